"""The main window: menus, command bar, alerts, rail, pages and foot line, put together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QEvent, QRect, Qt, QUrl, Slot
from PySide6.QtGui import (
    QAction,
    QActionGroup,
    QCloseEvent,
    QDesktopServices,
    QGuiApplication,
    QHideEvent,
    QKeySequence,
    QMoveEvent,
    QResizeEvent,
    QScreen,
)
from PySide6.QtWidgets import QApplication, QMainWindow, QMenu, QStackedWidget, QWidget

from app.crash import Fault
from app.session import Selection, Session
from app.shell import help as helping
from app.shell.alert_strips import AlertStrips, StandingAlerts
from app.shell.command_bar import CommandBar
from app.shell.commands import Commands, Entry, Extras, WindowCommand
from app.shell.diagnostics import show_diagnostics
from app.shell.export_journal import export_journal
from app.shell.export_receipt import export_receipt
from app.shell.finding import find_anything
from app.shell.foot_line import FootLine
from app.shell.geometry import SMALLEST_SIZE, fitted
from app.shell.keep_awake import KeepAwake
from app.shell.kept_layout import keep_layout
from app.shell.manual import PAGES, show_manual
from app.shell.pages import Page, PageView, pages_made_in
from app.shell.quitting import may_quit
from app.shell.rail import NavigationRail
from app.shell.tray import Tray
from app.theme import Density, ThemeChoice, icon, theme
from app.widgets import Option, Zone, choose, column, focus_next, row, show_error
from engine.errors import PraxisError
from engine.views.values import EngineStatus

_SEARCHED_FROM_ANYWHERE = "work_orders"


class MainWindow(QMainWindow):
    """The console's window over one session.

    Closing it hides it in the tray (or asks to quit where there is no tray). `quit_asked` is set when the person
    has decided that the console may end; whoever made the window then closes session and engine.
    """

    def __init__(self, session: Session, pages: Sequence[Page], extras: Extras) -> None:
        super().__init__()
        self.session = session
        self.pages = tuple(pages)
        self.quit_asked = asyncio.Event()
        self.tray: Tray | None = None
        self._views: dict[str, PageView] = {}
        self._searches: dict[str, str] = {}
        self._current = ""
        self._asking_to_quit = False
        self._ending = False
        self._awake = KeepAwake()
        self.setWindowIcon(icon("praxis"))
        self.setAccessibleName("Praxis Console")
        self.setMinimumSize(SMALLEST_SIZE)
        self.commands = Commands(self, session, extras)
        self._build(extras)
        self._standing = StandingAlerts(self, session, {page.key for page in self.pages})
        session.status_changed.connect(self._show_status)
        session.selection_changed.connect(self._show_selection)
        session.navigated.connect(self.open_page)
        session.failed.connect(self._show_error)
        session.left.connect(self.quit_asked.set)
        self._place()
        if isinstance(app := QGuiApplication.instance(), QGuiApplication):
            app.screenRemoved.connect(self._screen_removed)
        if self.pages:
            keys = [page.key for page in self.pages]
            last = session.settings.page
            self.open_page(last if last in keys else keys[0])

    # ----------------------------------------------------------------------------------------- building

    def _build(self, extras: Extras) -> None:
        self.bar = CommandBar(self.commands, self)
        self.strips = AlertStrips(self.session.alerts, self)
        self.rail = NavigationRail(self.pages, self)
        self.stack = QStackedWidget(self)
        self.foot = FootLine(self.session, self)
        body = QWidget(self)
        outer = column(body)
        outer.addWidget(self.bar)
        outer.addWidget(self.strips)
        middle = row(gap=0)
        middle.addWidget(self.rail)
        middle.addWidget(self.stack, 1)
        outer.addLayout(middle, 1)
        self._below = column()
        outer.addLayout(self._below)
        outer.addWidget(self.foot)
        self.setCentralWidget(body)
        self.rail.chosen.connect(self.open_page)
        self.bar.searched.connect(self._search)
        self.bar.looked_for.connect(self._look_for)
        self._build_menus(extras)

    def _build_menus(self, extras: Extras) -> None:
        menus = self.menuBar()
        menus.setNativeMenuBar(False)
        menus.setAccessibleName("Menus")
        commands = self.commands
        file = menus.addMenu("&File")
        for action in (commands.new_work_order, commands.import_work_orders):
            if action is not None:
                file.addAction(action)
        file.addSeparator()
        self._add(
            file, "Open data folder", "Show the folder that holds everything", "", self._open_data_folder
        )
        self._add(
            file,
            "Export journal…",
            "Write the whole journal into a file",
            "",
            self._spawner(lambda: export_journal(self, self.session), "export the journal"),
        )
        self._add(
            file,
            "Export receipt…",
            "Write the story of the chosen work order into a file that proves itself",
            "",
            self._spawner(lambda: export_receipt(self, self.session), "export the receipt"),
        )
        file.addSeparator()
        self._add(
            file, "Quit…", "End the console; asks what becomes of what runs", "Ctrl+Q", self.ask_to_quit
        )
        engine = menus.addMenu("&Engine")
        engine.addActions([commands.pause, commands.hold, commands.resume])
        engine.addSeparator()
        engine.addAction(commands.cancel)
        engine.addSeparator()
        engine.addActions([commands.pause_all, commands.hold_all, commands.resume_all])
        if extras.data:
            self._build_data_menu(menus.addMenu("&Data"), extras.data)
        self._build_view_menu(menus.addMenu("&View"))
        self._build_help_menu(menus.addMenu("&Help"), extras.guided_tour)

    def _build_data_menu(self, menu: QMenu, entries: Sequence[Entry]) -> None:
        for entry in entries:
            work = partial(entry.command, self, self.session)
            self._add(menu, entry.text, entry.tip, entry.key, self._spawner(work, entry.text))

    def _build_view_menu(self, view: QMenu) -> None:
        for number, page in enumerate(self.pages, start=1):
            key = f"Ctrl+{number}" if number <= 9 else ""
            self._add(view, page.title, f"Open {page.title}", key, partial(self.go_to_page, page.key))
        view.addSeparator()
        self._add(view, "Search", "Search on this page", "Ctrl+F", self._focus_search)
        find = partial(find_anything, self, self.session)
        self._add(
            view,
            "Find anything…",
            "Find work orders, runs, requests, grants and projects by name, identity, seal, digest or words",
            "Ctrl+K",
            self._spawner(find, "Find anything"),
        )
        view.addSeparator()
        look = theme()
        settings = self.session.settings
        self._add_choices(
            view.addMenu("Theme"),
            (
                (ThemeChoice.AUTO, "Like the system"),
                (ThemeChoice.LIGHT, "Light"),
                (ThemeChoice.DARK, "Dark"),
                (ThemeChoice.HIGH_CONTRAST, "High contrast"),
            ),
            look.choice if look is not None else settings.theme,
            self._choose_theme,
        )
        self._add_choices(
            view.addMenu("Density"),
            ((Density.COMFORTABLE, "Comfortable"), (Density.COMPACT, "Compact")),
            look.density if look is not None else settings.density,
            self._choose_density,
        )
        self._add_choices(
            view.addMenu("Times in"),
            ((Zone.LOCAL, "Local zone"), (Zone.UTC, "UTC")),
            self.session.times.zone,
            self._choose_zone,
        )

    def _build_help_menu(self, menu: QMenu, tour: WindowCommand | None) -> None:
        if tour is not None:
            self._add(
                menu,
                "Guided tour",
                "Walk through everything in a scratch workspace",
                "",
                lambda: self.session.spawn(tour(self, self.session), "guided tour"),
            )
        self._add(menu, "Keyboard", "Every key there is", "F1", self._spawner(self._keyboard, "keyboard"))
        for name, title, tip in PAGES:
            self._add(menu, title, tip, "", self._spawner(partial(show_manual, self, name), title))
        menu.addSeparator()
        self._add(
            menu,
            "Try a notification",
            "Show one message at the tray, to see whether the system lets it through",
            "",
            self._try_notification,
        )
        self._add(
            menu,
            "Diagnostics…",
            "What a report of a fault should contain",
            "",
            self._spawner(lambda: show_diagnostics(self, self.session), "diagnostics"),
        )
        self._add(
            menu,
            "About Praxis Console",
            "Version, versions of what it uses, data folder",
            "",
            self._spawner(lambda: helping.show_about(self, self.session), "about"),
        )

    def _add(self, menu: QMenu, text: str, tip: str, key: str, pressed: Callable[[], object]) -> QAction:
        made = menu.addAction(text)
        made.setStatusTip(tip)
        if key:
            made.setShortcut(QKeySequence(key))
            made.setAutoRepeat(False)
        made.triggered.connect(lambda: pressed())
        return made

    def _add_choices(
        self,
        menu: QMenu,
        choices: Sequence[tuple[Any, str]],
        chosen: object,
        take: Callable[[Any], None],
    ) -> None:
        group = QActionGroup(menu)
        for value, text in choices:
            action = self._add(menu, text, f"{menu.title()}: {text}", "", partial(take, value))
            action.setCheckable(True)
            action.setChecked(value == chosen)
            group.addAction(action)

    def _spawner(self, work: Callable[[], Coroutine[Any, Any, Any]], name: str) -> Callable[[], object]:
        return lambda: self.session.spawn(work(), name)

    # -------------------------------------------------------------------------------------------- pages

    @Slot(str)
    @Slot(str, str)
    def open_page(self, key: str, subject_id: str = "") -> None:
        """Bring a page to the front; a key that no page has changes nothing."""
        page = next((page for page in self.pages if page.key == key), None)
        if page is None:
            return
        view = self.view(key)
        if key != self._current:
            left = self._views.get(self._current)
            focused = QApplication.focusWidget()
            had_focus = left is not None and focused is not None and left.isAncestorOf(focused)
            if self._current:
                self._searches[self._current] = self.bar.search.text()
            self._current = key
            self.stack.setCurrentWidget(view)
            self.rail.show_chosen(key)
            self.bar.offer_search(page.search_hint, self._searches.get(key, ""))
            self.session.select(view.selection)
            self.session.settings.page = key
            self.setWindowTitle(f"{page.title} – Praxis Console")
            if had_focus:
                view.focus_first()
        if subject_id:
            view.show_subject(subject_id)

    def go_to_page(self, key: str) -> None:
        """Bring a page to the front and put the keyboard focus where its work begins."""
        self.open_page(key)
        self.view(key).focus_first()

    def view(self, key: str) -> PageView:
        """The widget of a page, built now if it was not."""
        if key not in self._views:
            page = next(page for page in self.pages if page.key == key)
            with pages_made_in(self.stack):
                made = page.make(self.session)
            made.acts_on.connect(partial(self._take_selection, made))
            self._views[key] = made
            self.stack.addWidget(made)
            keep_layout(self.session.settings, key, made)
        return self._views[key]

    def place_below(self, widget: QWidget) -> None:
        """Put something between the page and the foot line, over the whole width."""
        self._below.addWidget(widget)
        widget.show()

    @property
    def current_page(self) -> str:
        """The key of the page in front."""
        return self._current

    def _take_selection(self, view: PageView, selection: Selection | None) -> None:
        """Act on what is selected on the page in front; what happens on a hidden page waits for its turn."""
        if view is self._views.get(self._current):
            self.session.select(selection)

    def _search(self, text: str) -> None:
        if self._current:
            self.view(self._current).search(text)

    @Slot(str)
    def _look_for(self, text: str) -> None:
        """Look for a work order from a page that has nothing of its own to search."""
        self._searches.pop(self._current, None)
        self.bar.search.clear()
        self.open_page(_SEARCHED_FROM_ANYWHERE)
        if self._current == _SEARCHED_FROM_ANYWHERE:
            self.bar.search.setText(text)
            self._search(text)

    def _focus_search(self) -> None:
        self.bar.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.bar.search.selectAll()

    # ------------------------------------------------------------------------------------------- status

    @Slot(object)
    def _show_status(self, status: EngineStatus) -> None:
        for page in self.pages:
            if page.count is not None:
                self.rail.button(page.key).show_count(page.count(status))
        self._awake.follow(status.running)
        if self.tray is not None:
            self.tray.show_status(status)

    @Slot(object)
    def _show_selection(self, selection: Selection) -> None:
        self.bar.say_selection(selection.label)

    @Slot(object)
    def _show_error(self, error: PraxisError) -> None:
        show_error(self if self.isVisible() else None, error)

    @Slot(object)
    def show_fault(self, fault: Fault) -> None:
        """Say that a part of the program failed, with everything a report needs to copy."""
        error = PraxisError(
            fault.where,
            means=f"{fault.error}\nThis is a fault of the program, not of your work: what was committed is safe.",
            do="Go on, or quit and start again. Copy the details for a report.",
        )
        show_error(self if self.isVisible() else None, error, details=fault.text)

    # --------------------------------------------------------------------------------------------- view

    def _choose_theme(self, choice: ThemeChoice) -> None:
        self.session.settings.theme = choice
        if (look := theme()) is not None:
            look.choose(choice)

    def _choose_density(self, density: Density) -> None:
        self.session.settings.density = density
        if (look := theme()) is not None:
            look.choose(density=density)

    def _choose_zone(self, zone: Zone) -> None:
        self.session.settings.zone = zone
        self.session.times.set_zone(zone)

    async def _keyboard(self) -> None:
        found = self.findChildren(QAction)
        # An action without a word belongs to a part of a page, and the page lists its keys itself.
        actions = [action for action in found if action.text() and not action.shortcut().isEmpty()]
        await helping.show_keyboard(self, actions, self.pages)

    def _open_data_folder(self) -> None:
        QDesktopServices.openUrl(QUrl.fromLocalFile(str(self.session.engine.folder)))

    # ------------------------------------------------------------------------------ place, tray, the end

    def _place(self) -> None:
        settings = self.session.settings
        screens = [screen.availableGeometry() for screen in QGuiApplication.screens()]
        primary = QGuiApplication.primaryScreen().availableGeometry()
        screens = [primary, *(screen for screen in screens if screen != primary)]
        self.setGeometry(fitted(settings.geometry, screens))
        if settings.maximized:
            self.setWindowState(Qt.WindowState.WindowMaximized)

    @Slot(QScreen)
    def _screen_removed(self, screen: QScreen) -> None:
        if not self.isMaximized():
            screens = [
                found.availableGeometry() for found in QGuiApplication.screens() if found is not screen
            ]
            if screens:
                self.setGeometry(fitted(self.geometry(), screens))

    def _remember_place(self) -> None:
        settings = self.session.settings
        settings.maximized = self.isMaximized()
        if not self.isMaximized() and not self.isMinimized():
            settings.geometry = QRect(self.geometry())

    def show_tray(self) -> None:
        """Put the icon into the tray, where there is one."""
        if Tray.is_available():
            self.tray = Tray(self, self.commands)
            self.tray.opened.connect(self.bring_to_front)
            self.tray.followed.connect(self._follow_message)
            self.session.changed.connect(self.tray.take_changes)
            if self.session.status is not None:
                self.tray.show_status(self.session.status)
            self.tray.quit_asked.connect(self.ask_to_quit)

    @Slot(str, tuple)
    def _follow_message(self, page: str, subjects: tuple[str, ...]) -> None:
        self.session.spawn(self._open_told(page, subjects), "open what a message told of")

    async def _open_told(self, page: str, subjects: tuple[str, ...]) -> None:
        """Open the first of these that still waits; if none does, the first: its card says what was decided."""
        still = [
            subject
            for subject in subjects
            if await self.session.engine.approvals.inbox_row(subject) is not None
        ]
        self.open_page(page, (still or list(subjects) or [""])[0])

    def _try_notification(self) -> None:
        if self.tray is None:
            what = "This desktop has no tray, so nothing is notified. What waits is counted in the window."
            self._show_error(PraxisError(what))
            return
        self.tray.say(
            "Notifications work",
            "So will new requests be told of while the window is behind. If you cannot see this, look at the "
            "notification settings of your system.",
        )

    @Slot()
    def bring_to_front(self) -> None:
        """Show the window wherever it is."""
        if self.isMinimized():
            self.setWindowState(self.windowState() & ~Qt.WindowState.WindowMinimized)
        self.show()
        self.raise_()
        self.activateWindow()

    @Slot()
    def ask_to_quit(self) -> None:
        """Begin to quit: asks first if anything runs."""
        if not self._asking_to_quit:
            self._asking_to_quit = True
            self.session.spawn(self._quit(), "quit")

    async def _quit(self) -> None:
        try:
            if not self.isVisible() and await self.session.engine.running():
                self.bring_to_front()
            if await may_quit(self, self.session):
                self.quit_asked.set()
        finally:
            self._asking_to_quit = False

    def end_at_once(self) -> None:
        """Let the console end without asking: the desktop session ends, or the system asked the process to."""
        self._ending = True
        self.quit_asked.set()

    def finish(self) -> None:
        """Put the window and its tray icon away for good."""
        self._remember_place()
        self._awake.follow(0)
        if self.tray is not None:
            self.tray.hide()
        self.hide()

    def closeEvent(self, event: QCloseEvent) -> None:
        """Never close by itself: go to the tray, or ask to quit where there is none."""
        event.ignore()
        self._remember_place()
        app = QGuiApplication.instance()
        if self._ending or (isinstance(app, QGuiApplication) and app.isSavingSession()):
            self.end_at_once()
        elif self.tray is None:
            self.ask_to_quit()
        elif self.session.settings.told_about_tray:
            self.hide()
        else:
            self.session.spawn(self._tell_about_tray(), "tell about the tray")

    async def _tell_about_tray(self) -> None:
        """Say once that closing the window ends nothing."""
        answer = await choose(
            self,
            "Praxis Console goes on in the tray",
            "Closing the window ends nothing: what runs goes on, and new requests are counted on the tray icon.",
            (
                Option("hide", "Close the window", "The engine goes on. Open it again from the tray icon."),
                Option(
                    "quit", "Quit…", "End the console. If anything runs, you are asked what becomes of it."
                ),
            ),
        )
        if answer == "hide":
            self.session.settings.told_about_tray = True
            self.hide()
        elif answer == "quit":
            self.ask_to_quit()

    def focusNextPrevChild(self, next: bool) -> bool:
        """Tab goes as one reads: commands, strips, rail, then the page."""
        return focus_next(self, next)

    def changeEvent(self, event: QEvent) -> None:
        """Remember the place before it is covered by maximising."""
        super().changeEvent(event)
        if event.type() == QEvent.Type.WindowStateChange:
            self.session.settings.maximized = self.isMaximized()

    def moveEvent(self, event: QMoveEvent) -> None:
        """Remember the place."""
        super().moveEvent(event)
        self._remember_if_normal()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Remember the size."""
        super().resizeEvent(event)
        self._remember_if_normal()

    def hideEvent(self, event: QHideEvent) -> None:
        """Keep what is remembered on disk while nobody looks."""
        super().hideEvent(event)
        self.session.settings.save()

    def _remember_if_normal(self) -> None:
        if self.isVisible() and not self.isMaximized() and not self.isMinimized():
            self.session.settings.geometry = QRect(self.geometry())
