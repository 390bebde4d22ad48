"""Retention: removing what ended long ago, compacting the journal, collecting kept files (E-84).

Off until a person says what may go. An UNKNOWN, what is not settled, what is held, and whatever something that stays
refers to is never removed; budgets go on counting what removed work has spent.
"""

from engine.retention.preview import KeptWork, Preview
from engine.retention.retention import Progress, Retention, RetentionRun, Stage
from engine.retention.rows import OldRows
from engine.retention.settings import KEEP_EVERYTHING, SUGGESTED, RetentionSettings

__all__ = [
    "KEEP_EVERYTHING",
    "SUGGESTED",
    "KeptWork",
    "OldRows",
    "Preview",
    "Progress",
    "Retention",
    "RetentionRun",
    "RetentionSettings",
    "Stage",
]
