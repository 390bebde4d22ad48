"""The page "Evidence": recent attempts at the left, everything about the chosen one at the right."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QStackedWidget, QTabWidget, QWidget

from app.panels.evidence.artifacts import ArtifactsView
from app.panels.evidence.changes import ChangesView, count_of
from app.panels.evidence.judged import JudgedView
from app.panels.evidence.output import OutputView
from app.panels.evidence.row_text import card, describe, explain
from app.panels.evidence.staleness import StalenessStrip
from app.panels.evidence.summary import SummaryView
from app.panels.inbox.inline_button import InlineButton
from app.panels.prose import prose
from app.panels.rows import (
    CardDelegate,
    Column,
    FilteredList,
    OwnedTasks,
    Refresh,
    RowFeed,
    RowModel,
    side_by_side,
)
from app.panels.words import folder_name, order_name, stage_name
from app.panels.work_orders.attempt_words import IN_FLIGHT, attempt_look, verdict_look
from app.panels.work_orders.decisions import stop
from app.session import Changes, Selection, Session
from app.shell.pages import PageView
from app.theme import Text
from app.widgets import Badge, EmptyState, Role, button, column, frame, label, number, row
from engine.errors import InvalidValue, NotFound
from engine.execution.blobs import BlobStore
from engine.execution.evidence import Evidence, evidence_from_json
from engine.states import AttemptState, NodeKind, Purpose
from engine.views.values import AttemptRow, EvidenceView

_A = AttemptState
FILTERS: tuple[tuple[str, tuple[AttemptState, ...]], ...] = (
    ("All attempts", ()),
    ("In flight", tuple(IN_FLIGHT)),
    ("Ended", (_A.EXECUTED, _A.SETTLED)),
    ("UNKNOWN", (_A.UNKNOWN,)),
    ("Voided", (_A.VOIDED,)),
)
_SUMMARY, _OUTPUT, _ARTIFACTS, _CHANGES, _VALIDATION = range(5)


def _key(attempt: AttemptRow) -> str:
    return attempt.id


class EvidencePage(PageView):
    """Everything here is read from the engine; changes only say where to look again."""

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._tasks = OwnedTasks(session, self)
        self._wanted = ""
        self._view: EvidenceView | None = None
        self._touched: set[str] = set()
        self._stale = False
        self._blobs = BlobStore(session.engine.folder / "blobs")
        times = session.times
        self._model: RowModel[AttemptRow] = RowModel(
            [Column("Attempt", lambda attempt: attempt.title, partial(explain, times=times))],
            _key,
            partial(describe, times=times),
            self,
        )
        self._feed = RowFeed(self._model, self._read_page, _key, changed_first=False)
        self._catch_up = Refresh(self._tasks, self._take_changes, "catch up with attempts")
        self._reread = Refresh(self._tasks, self._read_evidence, "read evidence")
        self._build()
        self._model.more_wanted.connect(self._read_more)
        self._model.edited.connect(self._say_count)
        self._model.modelReset.connect(self._filled)
        self._list.chosen.connect(self._on_chosen)
        self._list.opened.connect(self._tabs.setFocus)
        session.changed.connect(self._on_changes)
        self._tasks.spawn(self._feed.start(), "read the attempts")

    # --------------------------------------------------------------------------------- what the shell asks

    def show_subject(self, subject_id: str) -> None:
        """Show the evidence of an attempt."""
        self._wanted = subject_id
        self._list.choose(self._model.number_of(subject_id))
        self._reread.ask()

    def focus_first(self) -> None:
        """The list."""
        self._list.setFocus()
        if not self._list.currentIndex().isValid() and self._model.rowCount():
            self._list.choose(0)

    # -------------------------------------------------------------------------------------------- building

    def _build(self) -> None:
        outer = column(self)
        split = side_by_side(
            self._session.settings,
            "evidence split",
            self._build_list,
            self._build_right,
            (340, 772),
            self,
        )
        outer.addWidget(split)

    def _build_list(self, _parent: QWidget) -> QWidget:
        self._side = FilteredList(
            self._model,
            CardDelegate(partial(card, times=self._session.times)),
            self._session.times,
            "attempts",
            "newest first",
            FILTERS,
            self._filter_changed,
            260,
        )
        self._list = self._side.list
        return self._side.side

    def _build_right(self, parent: QWidget) -> QWidget:
        right = frame("window", parent)
        right.setMinimumWidth(380)
        lines = column(right)
        self._stack = QStackedWidget(right)
        self._nothing = EmptyState(
            "Nothing has run yet",
            "When an approved command runs, what was observed of it is kept here: output, files, changes, digests.",
        )
        self._stack.addWidget(self._nothing)
        self._stack.addWidget(self._build_evidence())
        lines.addWidget(self._stack)
        return right

    def _build_evidence(self) -> QWidget:
        session = self._session
        holder = QWidget(self._stack)
        lines = column(holder)
        head = column(margins=(18, 14, 18, 8), gap=4)
        first = row(gap=8)
        self._title = prose("", Text.TITLE)
        first.addWidget(self._title, 1)
        self._badges = [Badge(), Badge()]
        for badge in self._badges:
            first.addWidget(badge, 0, Qt.AlignmentFlag.AlignTop)
        head.addLayout(first)
        second = row(gap=10)
        self._facts = label("", muted=True)
        second.addWidget(self._facts)
        self._order = InlineButton(
            "Open work order", "Show the story that this run belongs to", self._open_order
        )
        second.addWidget(self._order)
        self._unknown = InlineButton(
            "Decide…", "Look at what is known of this UNKNOWN and decide", self._open_unknown
        )
        second.addWidget(self._unknown)
        second.addStretch(1)
        self._stop = button(
            "Stop…", "Stop this run now; it becomes UNKNOWN", self._stop_pressed, role=Role.DANGER
        )
        second.addWidget(self._stop)
        head.addLayout(second)
        lines.addLayout(head)
        self._stale_strip = StalenessStrip(
            session.times, self._tasks.spawn, session.engine.evidence.workspace_since
        )
        lines.addWidget(self._stale_strip)
        self._tabs = QTabWidget(holder)
        self._tabs.setAccessibleName("Parts of the evidence")
        # Each part is made in its place; moving it there later makes Qt style all of it again.
        place = self._tabs.findChild(QStackedWidget)
        self._summary = SummaryView(
            session.times, self._tasks.spawn, session.engine.evidence.verify_blob, place
        )
        self._output = OutputView(self._tasks.spawn, place, settings=session.settings)
        self._artifacts = ArtifactsView(
            self._tasks.spawn,
            self._blobs.path,
            session.engine.evidence.verify_blob,
            place,
            settings=session.settings,
        )
        self._changes = ChangesView(self._tasks.spawn, session.engine.evidence.compare_file, place)
        self._judged = JudgedView(session.times, self.show_subject, place)
        for name, part in (
            ("Summary", self._summary),
            ("Output", self._output),
            ("Artifacts", self._artifacts),
            ("Changes", self._changes),
            ("Validation", self._judged),
        ):
            self._tabs.addTab(part, name)
        lines.addWidget(self._tabs, 1)
        return holder

    # ------------------------------------------------------------------------------------------- the list

    async def _read_page(self, after: str | None, limit: int) -> Sequence[AttemptRow]:
        return await self._session.engine.attempts(after=after, limit=limit, states=self._side.wanted_states)

    def _filter_changed(self) -> None:
        self._tasks.spawn(self._feed.start(), "read the attempts")

    def _read_more(self) -> None:
        self._tasks.spawn(self._feed.more(), "read more attempts")

    def _filled(self) -> None:
        if self._wanted and (place := self._model.number_of(self._wanted)) >= 0:
            self._list.choose(place)
        elif not self._wanted and self._model.rowCount():
            self._list.choose(0)
        self._say_count()

    def _say_count(self) -> None:
        filtered = bool(self._side.wanted_states)
        words = ("Nothing matches", "No attempt is in this state.")
        if not filtered:
            words = ("No attempts", "They will stand here, newest first.")
        loaded = self._side.say_count(words)
        if self._list.currentIndex().isValid():
            return
        # What is wanted may come into the list later than it was asked for.
        if self._wanted:
            self._list.choose(self._model.number_of(self._wanted))
        elif loaded:
            self._list.choose(0)

    def _on_changes(self, changes: Changes) -> None:
        if not changes.touches("attempt", "evidence", "validation", "delivery", "task", "handoff"):
            return
        self._touched |= changes.ids("attempt")
        self._stale = True
        if not self.isVisible():
            return
        self._catch_up.ask()
        view = self._view
        mine = view is not None and view.attempt.work_order_id in changes.work_orders
        if mine or self._wanted in changes.ids("attempt"):
            self._reread.ask()

    def showEvent(self, event: QShowEvent) -> None:
        """Take in what changed while nobody looked."""
        super().showEvent(event)
        if self._stale:
            self._catch_up.ask()
            self._reread.ask()

    async def _take_changes(self) -> None:
        self._stale = False
        touched, self._touched = self._touched, set()
        # What is in flight changes in ways that name other subjects (its delivery, its evidence).
        loaded = (self._model.row(place) for place in range(self._model.rowCount()))
        touched |= {attempt.id for attempt in loaded if attempt.state in IN_FLIGHT}
        await self._feed.catch_up(touched)

    # --------------------------------------------------------------------------------------- the evidence

    def _on_chosen(self, place: int) -> None:
        if place < 0:
            return
        attempt = self._model.row(place)
        self._wanted = attempt.id
        self._select(attempt)
        self._reread.ask()

    def _select(self, attempt: AttemptRow) -> None:
        label_ = f"{order_name(attempt.number)} · {folder_name(attempt.workspace)}"
        self.act_on(Selection(NodeKind.WORK_ORDER, attempt.work_order_id, label_))

    async def _read_evidence(self) -> None:
        wanted = self._wanted
        if not wanted:
            return
        try:
            view = await self._session.engine.evidence.of(wanted)
        except NotFound:
            if wanted == self._wanted:
                self._view = None
                self.act_on(None)
                self._nothing.say("There is no such attempt", "It is not in the data folder.")
                self._stack.setCurrentIndex(0)
            return
        if wanted == self._wanted:
            self._show(view)

    def _show(self, view: EvidenceView) -> None:
        before, self._view = self._view, view
        attempt = view.attempt
        evidence = _typed(view)
        if before is None or before.attempt.id != attempt.id:
            self._select(attempt)
        self._title.set_text(attempt.title)
        self._badges[0].show_look(attempt_look(attempt))
        judged = view.validation is not None and view.validation.attempt_id == attempt.id
        self._badges[1].setVisible(judged)
        if judged and view.validation is not None:
            self._badges[1].show_look(verdict_look(view.validation))
            self._badges[1].setToolTip("The verdict of its validation, by the criteria fixed beforehand")
        self._badges[0].setToolTip(
            "What was observed of the process"
            if attempt.decided_by is None
            else "What a person decided; it was not observed"
        )
        self._unknown.setVisible(attempt.state is AttemptState.UNKNOWN)
        self._facts.setText(stage_name(attempt.number, attempt.purpose))
        self._stop.setVisible(attempt.state in IN_FLIGHT and attempt.stop_requested_at is None)
        self._summary.show_view(view, evidence)
        self._output.show_view(view)
        self._stale_strip.show_view(view)
        if before != view:
            self._show_files(view, evidence)
            self._judged.show_view(view)
        if before is None or before.attempt.id != attempt.id:
            # While it runs, its output is what one wants to see.
            self._tabs.setCurrentIndex(_OUTPUT if view.evidence is None else self._tabs.currentIndex())
        self._stack.setCurrentIndex(1)

    def _show_files(self, view: EvidenceView, evidence: Evidence | None) -> None:
        patterns = list(view.plan.get("artifacts", ()))
        if view.plan.get("report"):
            patterns.append(str(view.plan["report"]))
        problems = evidence.artifact_problems if evidence is not None else ()
        self._artifacts.show_files(view.blobs, problems, patterns, running=view.evidence is None)
        kept = sum(1 for blob in view.blobs if blob.role == "artifact")
        self._tabs.setTabText(_ARTIFACTS, f"Artifacts ({kept})" if kept else "Artifacts")
        if evidence is not None:
            self._changes.show_evidence(view.attempt.id, evidence)
            self._tabs.setTabText(_CHANGES, f"Changes ({number(count_of(evidence))})")
        else:
            self._changes.show_nothing(view.evidence is None)
            self._tabs.setTabText(_CHANGES, "Changes")
        validates = view.attempt.purpose is Purpose.VALIDATE
        self._tabs.setTabToolTip(_VALIDATION, "What it judged" if validates else "How it was judged")

    def _open_order(self) -> None:
        if self._view is not None:
            self._session.open_page("work_orders", self._view.attempt.work_order_id)

    def _open_unknown(self) -> None:
        if self._view is not None:
            self._session.open_page("unknown", self._view.attempt.id)

    def _stop_pressed(self) -> None:
        if self._view is not None:
            self._session.spawn(stop(self._session, self._view.attempt, self.window()), "stop an attempt")


def _typed(view: EvidenceView) -> Evidence | None:
    """The record as a value, None while there is none or if its form is a newer one."""
    if view.evidence is None:
        return None
    try:
        return evidence_from_json(view.evidence)
    except (InvalidValue, KeyError, TypeError, ValueError):
        return None
