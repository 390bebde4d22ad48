"""What rounding must do; these tests are fixed before the work starts."""

# ruff: noqa: PT009 - these are unittest's tests, so that the example needs nothing installed
import unittest

from rounding import round_half_up


class RoundHalfUp(unittest.TestCase):
    """Halves go away from zero."""

    def test_whole_numbers_stay(self) -> None:
        """A whole number is its own rounding."""
        self.assertEqual([round_half_up(value) for value in (-3, 0, 7)], [-3, 0, 7])

    def test_a_positive_half_goes_up(self) -> None:
        """2.5 is 3, not 2."""
        self.assertEqual([round_half_up(value) for value in (0.5, 1.5, 2.5)], [1, 2, 3])

    def test_a_negative_half_goes_down(self) -> None:
        """-2.5 is -3, not -2."""
        self.assertEqual([round_half_up(value) for value in (-0.5, -1.5, -2.5)], [-1, -2, -3])


if __name__ == "__main__":
    unittest.main()
