"""Rounding as merchants do it: halves go away from zero."""


def round_half_up(value: float) -> int:
    """Round to a whole number; a half goes away from zero."""
    return round(value)
