"""Read of one attempt's evidence: what was observed, its kept files, and how it was judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from engine.dispatch.approvals import approval_row
from engine.dispatch.work_orders import spec_of, work_order_row
from engine.states import WorkOrderState
from engine.storage import Rx
from engine.views.handoffs import handoffs_around
from engine.views.values import BlobRef, EvidenceView
from engine.views.work_orders import attempt, validation_for


def evidence(rx: Rx, attempt_id: str, run_folder: Path, blob_path: Callable[[str], Path]) -> EvidenceView:
    """The evidence of an attempt; without a record yet, the files its command writes are named."""
    row = attempt(rx, attempt_id)
    order = work_order_row(rx, row.work_order_id)
    kept = rx.one("SELECT * FROM evidence WHERE attempt_id = ?", (attempt_id,))
    blobs = tuple(
        BlobRef(item["role"], item["path"], item["sha256"], item["size"])
        for item in rx.all(
            "SELECT * FROM evidence_blob WHERE evidence_id = ? ORDER BY role, path",
            (kept["id"] if kept else "",),
        )
    )
    digests = {blob.role: blob.sha256 for blob in blobs if blob.role in ("stdout", "stderr")}

    def output(role: str) -> str | None:
        if role in digests:
            return str(blob_path(digests[role]))
        return str(run_folder / role) if kept is None else None

    return EvidenceView(
        attempt=row,
        work_order_state=WorkOrderState(order["state"]),
        plan=json.loads(approval_row(rx, row.approval_id)["plan"]),
        evidence=json.loads(kept["body"]) if kept else None,
        evidence_id=kept["id"] if kept else None,
        evidence_sha256=kept["sha256"] if kept else None,
        recorded_at=kept["recorded_at"] if kept else None,
        blobs=blobs,
        stdout_file=output("stdout"),
        stderr_file=output("stderr"),
        validation=validation_for(rx, attempt_id),
        criteria=spec_of(order).validation.criteria,
        handoffs=handoffs_around(rx, row.work_order_id, row.task_id),
    )
