"""What the tests of this page share."""

from tests.app.panels.work_orders.console import console

__all__ = ["console"]
