"""The durable alarm clock: *when this trigger fires, run that sink with this payload*.

It is a library of its own: a store for the rows, a clock, a policy, and sinks by kind are all it needs. It fires
never early, at equality, normally within 50 ms; after downtime late, never lost. To embed it::

    clock = SystemClock()
    storage = await Storage.open(folder, clock=clock)           # the data folder that will hold the wakes
    you = Actor(ActorKind.PERSON, "you")

    def book(tx, wake):                                         # effect and fired commit together: exactly once
        tx.run("INSERT INTO meta (key, value) VALUES (?, ?)", (wake.id, wake.intent["text"]))

    async def call(wake):                                       # external: at least once; again after a crash
        await alarm.once(wake.id, "send", lambda: send(wake.intent, wake.result), workspace=wake.workspace)

    alarm = AlarmClock(
        SqliteWakeStore(storage), clock=clock, authorize=lambda actor, right, about: actor == you,
        sinks={"book": in_transaction(book), "call": external(call, time_limit="1m")},
    )
    await alarm.start()                                         # without it: await alarm.run_due() yourself
    await alarm.schedule(workspace="w", actor=you, kind="book", in_="50ms", intent={"text": "later"})
    await alarm.schedule(workspace="w", actor=you, kind="call", cron="30 9 * * MON-FRI", zone="Europe/Berlin")
    await alarm.watch(workspace="w", actor=you, kind="call", event_key="ci:passed", lane="builds")
    await alarm.deliver_event("w", "ci:passed", {"run": 7}, delivery_id="hook-7")
    approval = await alarm.request_approval(workspace="w", actor=you, kind="call", expires_in="1d")
    await alarm.resolve(approval.token, "yes", you)
    await alarm.stop()

What holds unless it is set otherwise: a lease of 30s, 10 attempts, 16 sinks at once, a time limit of 10m; per
workspace 1000 live wakes, 240 creations an hour, a horizon of 90d, a depth of 5; request keys for 1d, ended wakes
for 7d. One process owns a data folder; several alarm clocks within it may share its storage under different
holder names. `engine.wakes.store` is the port, ``tests/conformance`` the suite that every store passes.
"""

from engine.wakes.alarm import AlarmClock
from engine.wakes.cleaning import Cleaned
from engine.wakes.driver import Driver, TimerDriver
from engine.wakes.errors import (
    CalledOff,
    EffectDidNotHappen,
    LostClaim,
    OutcomeUnknown,
    Reason,
    TimeLimitReached,
    WaitOver,
    WakeRefused,
)
from engine.wakes.metrics import MetricsSnapshot
from engine.wakes.notices import Notice, NoticeKind
from engine.wakes.policy import About, Authorize, Right
from engine.wakes.receipts import Happened, Policy
from engine.wakes.recurrence import Mark, Occurrence
from engine.wakes.requests import Request
from engine.wakes.runner import PassReport
from engine.wakes.settings import Budgets, WakeSettings
from engine.wakes.sinks import NO_LIMIT, Sink, external, in_transaction
from engine.wakes.store import WakeStore, end_place, place
from engine.wakes.tools import AgentTools, Identity, ToolAnswer, ToolDefinition
from engine.wakes.values import (
    Booked,
    CancelResult,
    CatchUp,
    Delivery,
    DocketRow,
    IssuedApproval,
    LaneRow,
    Receipt,
    ReceiptState,
    Resolution,
    ResolveResult,
    Series,
    SeriesState,
    Step,
    Trigger,
    Waiting,
    Wake,
    WakeState,
    WakeSummary,
)

__all__ = [
    "NO_LIMIT",
    "About",
    "AgentTools",
    "AlarmClock",
    "Authorize",
    "Booked",
    "Budgets",
    "CalledOff",
    "CancelResult",
    "CatchUp",
    "Cleaned",
    "Delivery",
    "DocketRow",
    "Driver",
    "EffectDidNotHappen",
    "Happened",
    "Identity",
    "IssuedApproval",
    "LaneRow",
    "LostClaim",
    "Mark",
    "MetricsSnapshot",
    "Notice",
    "NoticeKind",
    "Occurrence",
    "OutcomeUnknown",
    "PassReport",
    "Policy",
    "Reason",
    "Receipt",
    "ReceiptState",
    "Request",
    "Resolution",
    "ResolveResult",
    "Right",
    "Series",
    "SeriesState",
    "Sink",
    "Step",
    "TimeLimitReached",
    "TimerDriver",
    "ToolAnswer",
    "ToolDefinition",
    "Trigger",
    "WaitOver",
    "Waiting",
    "Wake",
    "WakeRefused",
    "WakeSettings",
    "WakeState",
    "WakeStore",
    "WakeSummary",
    "end_place",
    "external",
    "in_transaction",
    "place",
]
