"""Clock trust: anomalies recorded, a CLOCK hold while wall time is distrusted, a verified way back (E-30 to E-33)."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from engine.actors import ENGINE, Actor
from engine.clock_watch import SAMPLES_WANTED, Anomaly, AnomalyKind, Reading
from engine.control.holds import ENGINE_NODE_ID, release
from engine.dispatch.approvals import require_reason
from engine.dispatch.grants import void_all
from engine.errors import Refused
from engine.ids import new_id
from engine.instants import Instant, format_instant
from engine.states import HoldKind
from engine.storage import Rx, Subject, Tx, require_epoch

_SENTENCES = {
    AnomalyKind.BELOW_HIGH_WATER: "Wall time is {size} below the latest time that was ever recorded.",
    AnomalyKind.WALL_BACK: "The wall clock jumped back by {size}.",
    AnomalyKind.WALL_FORWARD: "The wall clock jumped forward by {size}.",
    AnomalyKind.ELAPSED_BACK: "The elapsed time went back by {size}.",
    AnomalyKind.SUSPEND: "The machine slept for {size}.",
}


def stored_clock(rx: Rx) -> sqlite3.Row | None:
    """The last stored reading with high water and trust; None in a new data folder."""
    return rx.one("SELECT * FROM clock_state WHERE id = 1")


def stored_reading(row: sqlite3.Row) -> Reading:
    """The reading in a stored row."""
    return Reading(row["wall"], row["elapsed_ms"], row["awake_ms"], row["boot"])


def store_reading(tx: Tx, epoch: int, reading: Reading, high_water: Instant, *, now: Instant) -> None:
    """Keep a reading and the high water, for whoever opens the folder next. Trust is left as it is."""
    require_epoch(tx, epoch)
    tx.run(
        """INSERT INTO clock_state(id, wall, elapsed_ms, awake_ms, boot, high_water) VALUES (1, ?, ?, ?, ?, ?)
           ON CONFLICT (id) DO UPDATE SET wall = excluded.wall, elapsed_ms = excluded.elapsed_ms,
             awake_ms = excluded.awake_ms, boot = excluded.boot, high_water = excluded.high_water""",
        (reading.now, reading.elapsed, reading.awake, reading.boot, high_water),
    )


def record_anomalies(
    tx: Tx, epoch: int, found: Sequence[Anomaly], reading: Reading, high_water: Instant, *, now: Instant
) -> None:
    """Record findings with both their readings; a fault puts the CLOCK hold on the engine (E-31, E-32)."""
    store_reading(tx, epoch, reading, high_water, now=now)
    for anomaly in found:
        anomaly_id = new_id(now)
        sequence = tx.journal(
            f"clock.{anomaly.kind.lower()}",
            Subject("clock", anomaly_id),
            ENGINE,
            now,
            detail={
                "size_ms": anomaly.size_ms,
                "before": _plain(anomaly.before),
                "after": _plain(anomaly.after),
            },
        )
        tx.run(
            """INSERT INTO clock_anomaly(id, kind, size_ms, wall_before, elapsed_before_ms, boot_before, wall_after,
                 elapsed_after_ms, boot_after, sequence) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""",
            (
                anomaly_id,
                anomaly.kind,
                anomaly.size_ms,
                anomaly.before.now,
                anomaly.before.elapsed,
                anomaly.before.boot,
                anomaly.after.now,
                anomaly.after.elapsed,
                anomaly.after.boot,
                sequence,
            ),
        )
    faults = [anomaly for anomaly in found if anomaly.is_fault]
    if faults:
        _distrust(tx, faults[-1], now)


def restore_trust(
    tx: Tx,
    actor: Actor,
    reason: str,
    reading: Reading,
    high_water: Instant,
    samples: int,
    lower_high_water: bool = False,
    *,
    now: Instant,
) -> Instant:
    """End the CLOCK hold after a verified step; returns the high water from now on (E-33).

    ``samples`` consistent readings in a row must have been taken, and wall time must not be below the high
    water, unless the person explicitly lowers it because the clock had been set wrong; both values are then in
    the journal. A clock that is trusted is left alone.
    """
    hold = _clock_hold(tx)
    if hold is None:
        return high_water
    require_reason(reason, "restore trust in the clock")
    if samples < SAMPLES_WANTED:
        raise Refused(
            f"Only {samples} of {SAMPLES_WANTED} consistent samples were taken since the last anomaly.",
            means="Wall time and elapsed time must be seen to agree first.",
            do="Wait a few seconds and try again.",
            samples=samples,
        )
    if reading.now < high_water and not lower_high_water:
        raise Refused(
            f"It is {format_instant(reading.now)}, before the high water {format_instant(high_water)}.",
            means="Something was recorded at a later time than now.",
            do="Set the clock right. If it had been set wrong before, lower the high water explicitly.",
            high_water=high_water,
        )
    after = reading.now if reading.now < high_water else high_water
    tx.run("UPDATE clock_state SET high_water = ?, distrusted_since = NULL WHERE id = 1", (after,))
    release(tx, hold, actor, reason, now)
    tx.journal(
        "clock.trusted",
        Subject("clock", hold["id"]),
        actor,
        now,
        detail={
            "reason": reason,
            "samples": samples,
            "high_water_before": high_water,
            "high_water_after": after,
        },
    )
    return after


def anomaly_sentence(kind: AnomalyKind, size_ms: int) -> str:
    """Say an anomaly in words."""
    return _SENTENCES[kind].format(size=_duration(size_ms))


def _clock_hold(rx: Rx) -> sqlite3.Row | None:
    return rx.one("SELECT * FROM hold WHERE node_kind = 'ENGINE' AND kind = 'CLOCK' AND released_at IS NULL")


def _distrust(tx: Tx, anomaly: Anomaly, now: Instant) -> None:
    tx.run("UPDATE clock_state SET distrusted_since = ? WHERE id = 1 AND distrusted_since IS NULL", (now,))
    if _clock_hold(tx) is not None:
        return
    reason = anomaly_sentence(anomaly.kind, anomaly.size_ms)
    void_all(tx, "the clock was distrusted", now)
    hold_id = new_id(now)
    tx.run(
        """INSERT INTO hold(id, node_kind, node_id, kind, reason, actor_kind, actor, placed_at)
           VALUES (?, 'ENGINE', ?, 'CLOCK', ?, ?, ?, ?)""",
        (hold_id, ENGINE_NODE_ID, reason, ENGINE.kind, ENGINE.name, now),
    )
    tx.journal(
        "hold.placed",
        Subject("hold", hold_id),
        ENGINE,
        now,
        detail={"kind": HoldKind.CLOCK, "node": ["ENGINE", ENGINE_NODE_ID], "reason": reason},
    )


def _plain(reading: Reading) -> dict[str, object]:
    return {
        "wall": format_instant(reading.now),
        "elapsed_ms": reading.elapsed,
        "awake_ms": reading.awake,
        "boot": reading.boot,
    }


def _duration(milliseconds: int) -> str:
    seconds = milliseconds / 1000
    for size, word in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {word}"
    return f"{seconds:.1f} s"
