"""What the palette alone cannot say: lines, corners and distances, on a grid of 8 pixels."""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viewer.gui.theme import Tokens

# Widgets ask for a look of theirs by a dynamic property: role="panel" (base colour), "bar" (window colour), "muted",
# "title", "mono", "chip" (a checkable pill), "flat" (a button without a frame), "link" (a flat button in the accent).
_SHEET = Template("""
QMainWindow, QDialog { background: $window; }
QMenuBar { background: $window; border-bottom: 1px solid $border; padding: 2px 4px; }
QMenuBar::item { padding: 4px 8px; border-radius: 4px; background: transparent; }
QMenuBar::item:selected { background: $raised; }
QMenu { background: $base; border: 1px solid $border; padding: 4px; }
QMenu::item { padding: 5px 24px 5px 12px; border-radius: 4px; }
QMenu::item:selected { background: $selected; }
QMenu::item:disabled { color: $faint; }
QMenu::separator { height: 1px; background: $border; margin: 4px 8px; }
QMenu::icon { padding-left: 8px; }
QToolTip { background: $base; color: $text; border: 1px solid $border; padding: 4px 6px; }

QToolBar { background: $window; border: 0; border-bottom: 1px solid $border; padding: 3px 8px; spacing: 2px; }
QToolBar QToolButton { border: 0; border-radius: 5px; padding: 4px 8px; color: $text; background: transparent; }
QToolBar QToolButton:hover { background: $raised; }
QToolBar QToolButton:pressed, QToolBar QToolButton:checked { background: $selected; }
QToolBar QToolButton:disabled { color: $faint; }
QToolBar::separator { background: $border; width: 1px; margin: 5px 6px; }

QTabWidget::pane { border: 0; }
QTabBar { background: transparent; }
QTabBar::tab { padding: 7px 14px; border: 0; color: $muted; background: transparent; }
QTabBar::tab:selected { color: $text; }
QTabBar::tab:hover { color: $text; }
QTabBar[role="documents"]::tab { border-top: 2px solid transparent; border-top-left-radius: 6px;
    border-top-right-radius: 6px; padding: 6px 10px 6px 14px; }
QTabBar[role="documents"]::tab:selected { background: $base; border-top-color: $accent; }
QTabBar::close-button { image: url("$tab_close"); width: 14px; height: 14px; subcontrol-position: right;
    border-radius: 4px; margin: 2px 4px 0 2px; }
QTabBar::close-button:hover { background: $raised; }
QTabWidget[role="documents"]::tab-bar { left: 8px; }
QTabWidget[role="documents"] { background: $window; }
QTabWidget[role="details"]::tab-bar, QTabBar[role="details"] { left: 8px; }
QTabBar[role="details"]::tab { padding: 9px 2px 7px 2px; margin: 0 10px; border-bottom: 2px solid transparent; }
QTabBar[role="details"]::tab:selected { border-bottom-color: $accent; }

*[role="panel"] { background: $base; }
*[role="bar"] { background: $window; }
QLabel[role="muted"] { color: $muted; }
QLabel[role="faint"] { color: $faint; }
QLabel[role="title"] { font-size: ${title_pt}pt; font-weight: 600; }
QLabel[role="mono"] { font-family: "$mono"; }

QLineEdit { background: $window; border: 1px solid $border; border-radius: 5px; padding: 4px 8px;
    selection-background-color: $accent; selection-color: $on_accent; min-height: 18px; }
QLineEdit:focus { border-color: $accent; }
QLineEdit[fault="true"] { border-color: $error; }
QComboBox { background: $base; border: 1px solid $border; border-radius: 5px; padding: 4px 6px 4px 9px;
    min-height: 18px; }
QComboBox:focus, QComboBox:on { border-color: $accent; }
QComboBox::drop-down { border: 0; width: 20px; }
QComboBox::down-arrow { image: url("$arrow_down"); width: 10px; height: 10px; }
QComboBox QAbstractItemView { background: $base; border: 1px solid $border; selection-background-color: $selected;
    selection-color: $text; outline: 0; padding: 2px; }
QComboBox[role="flat"] { border: 1px solid transparent; background: transparent; }
QComboBox[role="flat"]:hover { background: $raised; }
QComboBox[role="flat"]:focus { border-color: $accent; }
QPushButton { background: $base; border: 1px solid $border; border-radius: 5px; padding: 5px 12px; min-height: 16px; }
QPushButton:hover { background: $hovered; }
QPushButton:pressed { background: $raised; }
QPushButton:focus { border-color: $accent; }
QPushButton:default { background: $accent; border-color: $accent; color: $on_accent; }
QPushButton:disabled { color: $faint; }
QPushButton[role="chip"] { background: $raised; border: 1px solid transparent; border-radius: 13px;
    padding: 4px 12px; }
QPushButton[role="chip"]:hover { border-color: $border; }
QPushButton[role="chip"]:focus { border-color: $accent; }
QPushButton[role="chip"]:checked { background: $accent; color: $on_accent; }
QPushButton[role="flat"], QPushButton[role="link"] { background: transparent; border: 1px solid transparent;
    padding: 3px 8px; }
QPushButton[role="flat"] { color: $muted; }
QPushButton[role="flat"]:hover { background: $raised; color: $text; }
QPushButton[role="link"] { color: $accent; text-align: left; }
QPushButton[role="link"]:hover { background: $hovered; }
QPushButton[role="flat"]:focus, QPushButton[role="link"]:focus { border-color: $accent; }
QToolButton[role="menu"] { background: $base; border: 1px solid $border; border-radius: 5px;
    padding: 4px 20px 4px 9px;
    min-height: 18px; }
QToolButton[role="menu"]:hover { background: $hovered; }
QToolButton[role="menu"]:focus { border-color: $accent; }
QToolButton[role="menu"]::menu-indicator { image: url("$arrow_down"); width: 10px; height: 10px;
    subcontrol-origin: padding; subcontrol-position: center right; right: 6px; }
QToolButton[role="flat"] { border: 1px solid transparent; border-radius: 4px; padding: 2px; background: transparent;
    color: $muted; }
QToolButton[role="flat"]:hover { background: $raised; color: $text; }
QToolButton[role="flat"]:focus { border-color: $accent; }

QTreeView, QTableView, QListView, QPlainTextEdit, QTextBrowser { background: $base; border: 0; outline: 0;
    selection-background-color: $selected; selection-color: $text; }
QTreeView::item:selected, QTableView::item:selected, QListView::item:selected { background: $selected; }
QTreeWidget::item { padding: 4px 0; }
QPlainTextEdit[role="message"] { padding: 4px 36px; }
QTableView { gridline-color: $grid; }
QHeaderView { background: $base; }
QHeaderView::section { background: $base; color: $muted; border: 0; border-bottom: 1px solid $border;
    padding: 4px 8px; font-size: ${small_pt}pt; }
QTableCornerButton::section { background: $base; border: 0; }
QSplitter::handle { background: $border; }
QSplitter::handle:horizontal { width: 1px; }
QSplitter::handle:vertical { height: 1px; }
QScrollBar:vertical { background: transparent; width: 12px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 12px; margin: 0; }
QScrollBar::handle { background: $scroll; border-radius: 4px; margin: 2px; }
QScrollBar::handle:hover { background: $faint; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea::corner { background: $base; }
QProgressBar { background: $raised; border: 0; border-radius: 3px; max-height: 6px; min-height: 6px; }
QProgressBar::chunk { background: $accent; border-radius: 3px; }
QStatusBar { background: $window; border-top: 1px solid $border; }
QStatusBar::item { border: 0; }
QStatusBar QLabel { color: $muted; padding: 0 6px; }
QStatusBar QComboBox { color: $muted; }
QPushButton[role="verdict"] { background: transparent; border: 1px solid transparent; color: $ok; padding: 2px 8px; }
QPushButton[role="verdict"][state="warning"] { color: $warning; }
QPushButton[role="verdict"]:hover { background: $raised; }
QPushButton[role="verdict"]:focus { border-color: $accent; }
""")


def style_sheet(tokens: Tokens, point_size: float, mono_family: str) -> str:
    """The application's style sheet in one theme's colours.

    Parameters
    ----------
    tokens
        The theme's colours.
    point_size
        Of the interface's text.
    mono_family
        The face for numbers.
    """
    from viewer.resources import resource_path

    return _SHEET.substitute(
        {name: getattr(tokens, name) for name in tokens.__slots__},
        title_pt=point_size + 5,
        small_pt=point_size - 1,
        mono=mono_family,
        scroll="#C5CAD2" if tokens.name == "light" else "#484C54",
        tab_close=resource_path(f"icons/tab-close-{tokens.name}.svg").as_posix(),
        arrow_down=resource_path(f"icons/arrow-down-{tokens.name}.svg").as_posix(),
    )
