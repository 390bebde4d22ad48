"""Receipts: effects that must not happen twice, across retries, crashes and callers.

The key is claimed before the effect runs. While it runs, the claim's lease is renewed; a recorded result is
never overwritten, and a claimer that lost its claim writes nothing and gives the recorded result. What nobody
can know, that a process died in the middle of an effect, is a matter of policy: at least once runs it again,
at most once says UNKNOWN and leaves it to a check or a person.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from engine.actors import ENGINE, Actor
from engine.clock import Clock
from engine.errors import InvalidValue, NotFound, WrongState
from engine.instants import Instant
from engine.wakes.errors import EffectDidNotHappen, OutcomeUnknown, WaitOver
from engine.wakes.policy import Authorize, about, require
from engine.wakes.requests import json_text
from engine.wakes.settings import WakeSettings
from engine.wakes.store import Transaction, Trusted, WakeStore
from engine.wakes.values import Json, Receipt, ReceiptState
from engine.wakes.waiting import first_of, to_the_end

POLL_MS = 250
"""How often a caller that waits looks whether another process has recorded a result."""

Key: TypeAlias = tuple[str, str, str]
"""Workspace, session and effect: three parts that are never glued together (S-44)."""


class Policy(StrEnum):
    """What a lapsed claim means: run again, or nobody knows."""

    AT_LEAST_ONCE = "at_least_once"
    AT_MOST_ONCE = "at_most_once"


@dataclass(frozen=True, slots=True)
class Happened:
    """A check found that the effect had happened, with this result."""

    result: Json = None


Effect: TypeAlias = Callable[[], Awaitable[Json]]
Check: TypeAlias = Callable[[], Awaitable[Happened | bool | None]]
"""Finds out what became of an effect: `Happened`, False (it did not), or None (unknown still)."""


@dataclass(frozen=True, slots=True)
class _Begun:
    """What a caller got: its own claim, or the state of somebody else's."""

    receipt: Receipt
    mine: bool
    lapsed: bool = False


class Receipts:
    """The receipts of one alarm clock."""

    def __init__(
        self,
        store: WakeStore,
        clock: Clock,
        settings: WakeSettings,
        holder: str,
        authorize: Authorize,
        trusted: Trusted,
    ) -> None:
        self._store = store
        self._clock = clock
        self._settings = settings
        self._holder = holder
        self._authorize = authorize
        self._trusted = trusted
        self._changes: dict[Key, asyncio.Event] = {}

    async def once(
        self, key: Key, effect: Effect, policy: Policy, wait_limit_ms: int | None, check: Check | None
    ) -> Json:
        """Give the recorded result of ``effect``, running it if nobody has."""
        began_at = self._clock.elapsed()
        while True:
            begun = await self._store.write(self._begin, key, policy, check is not None)
            if begun.mine:
                done, result = await self._carry_out(begun, effect, policy, check)
                if done:
                    return result
                continue
            match begun.receipt.state:
                case ReceiptState.DONE:
                    return begun.receipt.result
                case ReceiptState.UNKNOWN:
                    raise _unknown(key)
            left = POLL_MS
            if wait_limit_ms is not None:
                left = min(left, began_at + wait_limit_ms - self._clock.elapsed())
                if left <= 0:
                    raise WaitOver(
                        f"The effect {key[2]!r} is still being run by another caller.",
                        means="Nothing was done by this call.",
                        do="Ask again later for its result.",
                        key=key,
                    )
            changed = self._changes.setdefault(key, asyncio.Event())
            await first_of(changed.wait(), self._clock.sleep(left))

    async def settle(
        self, key: Key, actor: Actor, reason: str, *, happened: bool, result: Json = None
    ) -> Receipt:
        """Record a person's finding about an unknown effect: it happened, with a result, or it did not."""
        text = json_text(result, "result") if happened else None
        receipt = await self._store.write(self._settle_unknown, key, actor, reason, text, control=True)
        self._tell(key)
        return receipt

    # Carrying out

    async def _carry_out(
        self, begun: _Begun, effect: Effect, policy: Policy, check: Check | None
    ) -> tuple[bool, Json]:
        """Run the effect under this claim; False if the claim was lost, so that another's result counts."""
        receipt = begun.receipt
        key = (receipt.workspace, receipt.session, receipt.key)
        try:
            found = await check() if begun.lapsed and check is not None else False
            if found is None or found is True:
                await self._end(receipt, ReceiptState.UNKNOWN, None)
                raise _unknown(key)
            result = found.result if isinstance(found, Happened) else await self._run(receipt, effect)
        except OutcomeUnknown:
            raise
        except EffectDidNotHappen:
            await self._end(receipt, ReceiptState.FREE, None)
            raise
        except BaseException as error:
            if policy is Policy.AT_LEAST_ONCE:
                await self._end(receipt, ReceiptState.FREE, None)
                raise
            await self._end(receipt, ReceiptState.UNKNOWN, None)
            if isinstance(error, Exception):
                raise _unknown(key) from error
            raise
        try:
            text = json_text(result, "result")
        except InvalidValue:
            # It happened all the same, and must not happen again for the sake of its result.
            await self._end(receipt, ReceiptState.DONE, "null")
            raise
        recorded = await self._end(receipt, ReceiptState.DONE, text)
        return recorded, json.loads(text)

    async def _run(self, receipt: Receipt, effect: Effect) -> Json:
        """Run the effect, renewing the lease at a third of its length."""
        third = self._settings.lease_ms // 3

        async def body() -> Json:
            return await effect()

        task = asyncio.create_task(body(), name=f"effect {receipt.key}")
        renewed_at = self._clock.elapsed()
        try:
            while not task.done():
                left = renewed_at + third - self._clock.elapsed()
                if left <= 0:
                    renewed_at = self._clock.elapsed()
                    await self._store.write(self._renew, receipt)
                else:
                    await first_of(self._clock.sleep(left), tasks=[task])
        finally:
            if not task.done():
                task.cancel()
                await asyncio.wait({task})
        return task.result()

    async def _end(self, receipt: Receipt, state: ReceiptState, result: str | None) -> bool:
        ended = await to_the_end(self._store.write(self._settle, receipt, state, result))
        self._tell((receipt.workspace, receipt.session, receipt.key))
        return ended

    def _tell(self, key: Key) -> None:
        changed = self._changes.pop(key, None)
        if changed is not None:
            changed.set()

    # Transaction functions

    def _begin(self, tx: Transaction, key: Key, policy: Policy, has_check: bool, *, now: Instant) -> _Begun:
        store = self._store
        receipt = store.receipts.get(tx, *key)
        if receipt is not None and receipt.state in (ReceiptState.DONE, ReceiptState.UNKNOWN):
            return _Begun(receipt, mine=False)
        lapsed = receipt is not None and receipt.state is ReceiptState.RUNNING
        if receipt is not None and receipt.lease_until is not None:
            # By a distrusted clock no lease is judged: then its runner may be alive whatever the time says.
            if not self._trusted(tx) or receipt.lease_until > now:
                return _Begun(receipt, mine=False)
            if policy is Policy.AT_MOST_ONCE and not has_check:
                store.receipts.settle(tx, *key, receipt.claim, ReceiptState.UNKNOWN, None, now)
                self._record(tx, "unknown", key, ENGINE, now, claim=receipt.claim)
                unknown = store.receipts.get(tx, *key)
                assert unknown is not None
                return _Begun(unknown, mine=False)
        claimed = store.receipts.claim(tx, *key, self._holder, now + self._settings.lease_ms, now)
        self._record(tx, "claimed", key, ENGINE, now, claim=claimed.claim, holder=self._holder)
        store.boundary(tx, "receipt.claim")
        return _Begun(claimed, mine=True, lapsed=lapsed)

    def _renew(self, tx: Transaction, receipt: Receipt, *, now: Instant) -> bool:
        if not self._trusted(tx):
            return True
        return self._store.receipts.renew(
            tx,
            receipt.workspace,
            receipt.session,
            receipt.key,
            receipt.claim,
            now + self._settings.lease_ms,
        )

    def _settle(
        self, tx: Transaction, receipt: Receipt, state: ReceiptState, result: str | None, *, now: Instant
    ) -> bool:
        key = (receipt.workspace, receipt.session, receipt.key)
        settled = self._store.receipts.settle(tx, *key, receipt.claim, state, result, now)
        self._record(tx, state.value if settled else "lost", key, ENGINE, now, claim=receipt.claim)
        self._store.boundary(tx, "receipt.settle")
        return settled

    def _settle_unknown(
        self, tx: Transaction, key: Key, actor: Actor, reason: str, result: str | None, *, now: Instant
    ) -> Receipt:
        receipt = self._store.receipts.get(tx, *key)
        if receipt is None:
            raise NotFound(f"There is no receipt {key[2]!r} of this session.", do="Look at the list again.")
        require(self._authorize, actor, "settle", about(receipt))
        if receipt.state is not ReceiptState.UNKNOWN:
            raise WrongState(
                f"The receipt is {receipt.state} and not unknown.",
                means="Nothing was changed.",
                found=receipt.state,
            )
        state = ReceiptState.FREE if result is None else ReceiptState.DONE
        self._store.receipts.settle(tx, *key, receipt.claim, state, result, now)
        self._record(tx, "settled", key, actor, now, claim=receipt.claim, to=state, why=reason)
        settled = self._store.receipts.get(tx, *key)
        assert settled is not None
        return settled

    def _record(
        self, tx: Transaction, event: str, key: Key, actor: Actor, now: Instant, **detail: object
    ) -> None:
        self._store.record(tx, event, "receipt", json.dumps(key), actor, now, detail)


def _unknown(key: Key) -> OutcomeUnknown:
    return OutcomeUnknown(
        f"Nobody can say whether the effect {key[2]!r} happened.",
        means="It was begun and not recorded. It is not run again by itself.",
        do="Look whether it took effect, then settle the receipt.",
        key=key,
    )
