"""The durable alarm clock."""
