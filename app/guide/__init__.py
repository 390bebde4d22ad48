"""The guided tour in the window: eleven steps through the scratch workspace, at the person's pace."""

from app.guide.tour import guided_tour, take_up_tour

__all__ = ["guided_tour", "take_up_tour"]
