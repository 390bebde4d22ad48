"""Evidence: what was observed of each attempt, beside what the worker claims."""
