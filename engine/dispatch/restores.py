"""What a restore ended: an approval that was given before it covers nothing that comes after it (E-82)."""

from __future__ import annotations

from engine.storage import Rx

RESTORE_SUBJECT = "restore"
"""The journal's subject of a restore; its newest row is the moment from which older approvals count no more."""

LAST_RESTORE = "SELECT max(+sequence) AS last FROM journal WHERE subject_kind = ?"
# With a bare column SQLite walks the journal from its end, looking for a restore that mostly is not there.


def given_before_restore(rx: Rx, approval_id: str) -> bool:
    """Whether the data was restored since this approval was given. By the journal's order, not by any clock."""
    restored = rx.one(LAST_RESTORE, (RESTORE_SUBJECT,))
    given = rx.one(
        """SELECT max(sequence) AS last FROM journal WHERE subject_kind = 'approval' AND subject_id = ?
             AND kind IN ('approval.approved', 'approval.covered')""",
        (approval_id,),
    )
    assert restored is not None
    assert given is not None
    return restored["last"] is not None and (given["last"] is None or given["last"] < restored["last"])
