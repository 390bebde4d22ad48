"""The one style sheet: only what a palette cannot say. Nothing outside this package sets another.

Widgets ask for a part by a dynamic property: ``role`` on buttons (``primary``, ``danger``, ``quiet``) and on
labels (``muted``), ``surface`` on frames (``window``, ``surface``, ``raised``, ``code``, ``bar``, ``foot``,
``rail``, ``side``).
"""

from __future__ import annotations

from app.theme.tokens import Tokens

_TEMPLATE = """
QToolTip {{ background: {raised}; color: {text}; border: 1px solid {border}; padding: 4px 6px; }}
QMenuBar {{ background: {surface}; color: {text}; border-bottom: 1px solid {border}; padding: 1px 4px; }}
QMenuBar::item {{ background: transparent; padding: 5px 9px; border-radius: 4px; }}
QMenuBar::item:selected {{ background: {select}; }}
QMenu {{ background: {raised}; color: {text}; border: 1px solid {border}; padding: 4px; }}
QMenu::item {{ padding: 5px 26px 5px 26px; border-radius: 4px; }}
QMenu::item:selected {{ background: {select}; color: {text}; }}
QMenu::item:disabled {{ color: {muted}; }}
QMenu::separator {{ height: 1px; background: {border}; margin: 4px 8px; }}

QPushButton {{ background: {raised}; color: {text}; border: 1px solid {border}; border-radius: 4px;
  padding: {pad}px 12px; }}
QPushButton:hover {{ background: {chip}; }}
QPushButton:pressed {{ background: {select}; }}
QPushButton:disabled {{ background: {window}; color: {muted}; border-style: dashed; }}
QPushButton:focus {{ border: 2px solid {accent}; padding: {pad_focus}px 11px; }}
QPushButton[role="primary"] {{ background: {accent}; color: {on_accent}; border-color: {accent};
  font-weight: bold; }}
QPushButton[role="primary"]:hover {{ border-color: {text}; }}
QPushButton[role="primary"]:focus {{ border: 2px solid {text}; }}
QPushButton[role="primary"]:disabled {{ background: {window}; color: {muted}; border-color: {border}; }}
QPushButton[role="danger"] {{ color: {bad}; }}
QPushButton[role="danger"]:disabled {{ color: {muted}; }}
QPushButton[role="quiet"] {{ background: transparent; border-color: {quiet}; color: {accent}; }}
QPushButton[role="quiet"]:hover {{ border-color: {border}; }}
QPushButton[role="quiet"]:disabled {{ color: {muted}; }}
QPushButton[role="quiet"]:focus {{ border: 2px solid {accent}; }}

QLineEdit, QPlainTextEdit, QTextEdit, QSpinBox, QComboBox, QDateTimeEdit {{ background: {surface};
  color: {text}; border: 1px solid {edge}; border-radius: 4px; padding: {pad_field}px 7px;
  selection-background-color: {accent}; selection-color: {on_accent}; placeholder-text-color: {muted}; }}
QPlainTextEdit[readOnly="true"] {{ background: {code}; border-color: {border}; }}
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus, QSpinBox:focus, QComboBox:focus,
QDateTimeEdit:focus {{ border: 2px solid {accent}; padding: {pad_field_focus}px 6px; }}
QLineEdit:disabled, QPlainTextEdit:disabled, QComboBox:disabled, QSpinBox:disabled,
QDateTimeEdit:disabled {{ background: {window}; color: {muted};
  border-color: {border}; placeholder-text-color: {muted}; }}
QLineEdit[role="search"] {{ background: {code}; }}
QComboBox {{ padding-right: 4px; }}
QComboBox::drop-down, QDateTimeEdit::drop-down {{ border: none; width: 20px; }}
QListWidget {{ background: {surface}; color: {text}; border: 1px solid {edge}; border-radius: 4px; padding: 2px; }}
QListWidget:focus {{ border: 2px solid {accent}; padding: 1px; }}
QListWidget::item {{ padding: 5px 8px; }}
QListWidget::item:selected {{ background: {select}; color: {text}; }}
QComboBox::down-arrow {{ image: url(icons:chevron-down-{ink}.svg); width: 14px; height: 14px; }}
QSpinBox::up-button, QDateTimeEdit::up-button {{ subcontrol-origin: border; subcontrol-position: top right;
  border: none; width: 18px; }}
QSpinBox::down-button, QDateTimeEdit::down-button {{ subcontrol-origin: border;
  subcontrol-position: bottom right; border: none; width: 18px; }}
QSpinBox::up-arrow, QDateTimeEdit::up-arrow {{ image: url(icons:chevron-up-{ink}.svg);
  width: 12px; height: 12px; }}
QSpinBox::down-arrow, QDateTimeEdit::down-arrow {{ image: url(icons:chevron-down-{ink}.svg);
  width: 12px; height: 12px; }}
QCheckBox, QRadioButton {{ color: {text}; spacing: 7px; }}
QCheckBox:disabled, QRadioButton:disabled {{ color: {muted}; }}
QCheckBox::indicator, QRadioButton::indicator {{ width: 14px; height: 14px; background: {surface};
  border: 1px solid {edge}; border-radius: 3px; }}
QRadioButton::indicator {{ border-radius: 8px; }}
QCheckBox::indicator:focus, QRadioButton::indicator:focus {{ border: 2px solid {accent};
  width: 12px; height: 12px; }}
QCheckBox::indicator:checked {{ background: {accent}; border-color: {accent};
  image: url(icons:check-{on}.svg); }}
QCheckBox::indicator:checked:focus {{ border-color: {text}; }}
QRadioButton::indicator:checked {{ border: 4px solid {accent}; width: 8px; height: 8px; }}
QRadioButton::indicator:checked:focus {{ background: {text}; }}
QComboBox QAbstractItemView {{ background: {raised}; color: {text}; border: 1px solid {border};
  selection-background-color: {select}; selection-color: {text}; }}

QAbstractItemView {{ background: {surface}; color: {text}; border: none; outline: 0;
  selection-background-color: {select}; selection-color: {text}; }}
QHeaderView::section {{ background: {surface}; color: {muted}; border: none;
  border-bottom: 1px solid {border}; padding: 5px 8px; }}
QSplitter::handle {{ background: {border}; }}
QSplitter::handle:horizontal {{ width: 1px; }}
QSplitter::handle:vertical {{ height: 1px; }}
QScrollArea {{ background: transparent; border: none; }}
QScrollArea > QWidget > QWidget {{ background: transparent; }}

QScrollBar:vertical {{ background: transparent; width: 12px; margin: 0; }}
QScrollBar:horizontal {{ background: transparent; height: 12px; margin: 0; }}
QScrollBar::handle {{ background: {edge}; border-radius: 4px; margin: 2px; }}
QScrollBar::handle:vertical {{ min-height: 28px; }}
QScrollBar::handle:horizontal {{ min-width: 28px; }}
QScrollBar::handle:hover {{ background: {muted}; }}
QScrollBar::add-line, QScrollBar::sub-line {{ width: 0; height: 0; }}
QScrollBar::add-page, QScrollBar::sub-page {{ background: transparent; }}

QTabWidget::pane {{ border: none; border-top: 1px solid {border}; top: -1px; }}
QTabWidget::tab-bar {{ left: 6px; }}
QTabBar::tab {{ background: transparent; color: {muted}; padding: 6px 12px; border: none;
  border-bottom: 2px solid transparent; }}
QTabBar::tab:selected {{ color: {text}; border-bottom-color: {accent}; }}
QTabBar::tab:hover {{ color: {text}; }}
QTabBar::tab:focus {{ background: {select}; }}

QProgressBar {{ background: {bar_back}; color: {text}; border: none; border-radius: 3px;
  text-align: center; }}
QProgressBar::chunk {{ background: {bar_reserved}; border-radius: 3px; }}

QLabel {{ background: transparent; }}
QLabel[role="muted"] {{ color: {muted}; }}
QLabel[role="danger"] {{ color: {bad}; }}
QLabel[role="warn"] {{ color: {warn}; }}
QLabel[role="unknown"] {{ color: {unknown}; }}
QLabel[role="ok"] {{ color: {ok}; }}
QFrame[surface="window"] {{ background: {window}; border: none; }}
QFrame[surface="surface"] {{ background: {surface}; border: none; }}
QFrame[surface="raised"] {{ background: {raised}; border: 1px solid {border}; border-radius: 6px; }}
QFrame[surface="code"] {{ background: {code}; border: 1px solid {border}; border-radius: 4px; }}
QFrame[surface="bar"] {{ background: {surface}; border: none; border-bottom: 1px solid {border}; }}
QFrame[surface="foot"] {{ background: {surface}; border: none; border-top: 1px solid {border}; }}
QFrame[surface="log"] {{ background: {code}; border: none; }}
QFrame[surface="rail"] {{ background: {surface}; border: none; border-right: 1px solid {border}; }}
QFrame[surface="side"] {{ background: {surface}; border: none; }}
QFrame[surface="rule"] {{ background: {border}; border: none; max-height: 1px; min-height: 1px; }}
QFrame[surface="guide"] {{ background: {select}; border: none; border-top: 2px solid {accent}; }}
QFrame[surface="alert-warn"] {{ background: {warn_back}; border: none; border-bottom: 1px solid {border}; }}
QFrame[surface="alert-bad"] {{ background: {bad_back}; border: none; border-bottom: 1px solid {border}; }}
QFrame[surface="alert-unknown"] {{ background: {unknown_back}; border: none;
  border-bottom: 1px solid {border}; }}
QFrame[surface="alert-live"] {{ background: {select}; border: none; border-bottom: 1px solid {border}; }}
QFrame[surface="alert-ok"] {{ background: {ok_back}; border: none; border-bottom: 1px solid {border}; }}
QFrame[surface="alert-neutral"] {{ background: {chip}; border: none; border-bottom: 1px solid {border}; }}
QFrame[surface^="alert"] QPushButton {{ padding: 3px 10px; }}
QFrame[surface^="alert"] QPushButton:focus {{ padding: 2px 9px; }}
QDialog, QMessageBox {{ background: {window}; }}
QMainWindow::separator {{ background: {border}; width: 1px; height: 1px; }}
"""


def style_sheet(tokens: Tokens, *, compact: bool) -> str:
    """The style sheet for one set of tokens; ``compact`` takes height out of buttons and fields."""
    colours = {
        name: getattr(tokens, name).name()
        for name in Tokens.__dataclass_fields__
        if name not in {"name", "dark"}
    }
    plain = tokens.border == tokens.edge
    pad = 4 if compact else 6
    field = 3 if compact else 5
    return _TEMPLATE.format(
        **colours,
        ink="white" if plain else "light" if tokens.dark else "dark",
        # Where every line is white, what can be pressed has one, too.
        quiet=colours["edge"] if plain else "transparent",
        on="dark" if tokens.dark else "light",
        pad=pad,
        pad_focus=pad - 1,
        pad_field=field,
        pad_field_focus=field - 1,
    )
