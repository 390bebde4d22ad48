"""Plans and their seals, approvals, budgets, admission and delivery."""
