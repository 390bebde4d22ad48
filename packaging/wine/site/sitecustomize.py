"""For the tests under Wine 8 only: asyncio's loop for Windows looks around once a second.

Wine loses a wake-up of that loop now and then when several threads send one at the same time and end
(`../lost-wake-up.py` shows it without any code of ours). The loop then sleeps until its next timer, and a test that
has none hangs. Nothing else is changed: what is due is done at most a second late.
"""

from asyncio import windows_events

LONGEST_SLEEP_SECONDS = 1.0

_poll = windows_events.IocpProactor._poll  # noqa: SLF001


def _poll_at_most(proactor: windows_events.IocpProactor, timeout: float | None = None) -> None:
    _poll(proactor, LONGEST_SLEEP_SECONDS if timeout is None else min(timeout, LONGEST_SLEEP_SECONDS))


windows_events.IocpProactor._poll = _poll_at_most  # noqa: SLF001
