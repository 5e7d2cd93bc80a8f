"""Every command of the window, in one table: what it is called, its keys, its picture, what it does in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QToolBar, QWidget

from viewer.gui.icons import IconSet

_Standard = QKeySequence.StandardKey


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One command.

    Attributes
    ----------
    id
        Its name in the program.
    text
        In menus, with its access key.
    tip
        What it does, for the status line and hovering.
    keys
        Its shortcuts, the one to show first.
    icon
        Name of its picture; "" for none.
    on_document
        True where it needs an open document.
    checkable
        True where it is switched on and off.
    on_comparison
        True where it needs a comparison in front, or works on one as on a document.
    """

    id: str
    text: str
    tip: str
    keys: tuple[str | QKeySequence.StandardKey, ...] = ()
    icon: str = ""
    on_document: bool = False
    checkable: bool = False
    on_comparison: bool = False


ACTIONS: Final = (
    ActionSpec(
        "open",
        "&Open…",
        "Open checkpoint files, or the index file of shards, in tabs; nothing in them is run",
        (_Standard.Open,),
        "open",
    ),
    ActionSpec(
        "open_folder",
        "Open &folder…",
        "Open a folder that is one checkpoint: shards with their index, a distributed checkpoint, a Trainer's folder",
        ("Ctrl+Shift+O",),
        "open",
    ),
    ActionSpec(
        "open_sample", "Open &sample", "Open a small training checkpoint that comes with the program", (), "sample"
    ),
    ActionSpec("clear_recent", "&Clear this list", "Forget the files that were opened lately"),
    ActionSpec(
        "reload", "&Reload", "Read the file again", (_Standard.Refresh, "F5"), "reload", True, on_comparison=True
    ),
    ActionSpec("close", "&Close tab", "Close this document", (_Standard.Close,), "close", True, on_comparison=True),
    ActionSpec(
        "export",
        "&Export…",
        "Write a checkpoint, or a part of it, in the one form whose bytes depend on the content alone",
        ("Ctrl+E",),
        "export",
        True,
    ),
    ActionSpec("export_this", "Export &this…", "Export the current row and what is below it", (), "", True),
    ActionSpec(
        "verify",
        "&Verify…",
        "Read every byte of the file: checksums, ranges, values; and say whether it is canonical",
        ("Ctrl+Shift+V",),
        "",
        True,
    ),
    ActionSpec(
        "content_name",
        "Content &name…",
        "Compute the SHA-256 that files of the same content share, whatever their format",
        (),
        "",
        True,
    ),
    ActionSpec(
        "reopen_session", "Open the &last session", "Open the tabs that were open when the window was closed last"
    ),
    ActionSpec(
        "properties", "&Properties…", "Show where the file lies, its size and its time", ("Alt+Return",), "", True
    ),
    ActionSpec(
        "settings", "Se&ttings…", "Choose how the program looks and computes", (_Standard.Preferences, "Ctrl+,")
    ),
    ActionSpec("back", "&Back", "Go back to the row that was looked at before", (_Standard.Back, "Alt+Left")),
    ActionSpec("forward", "&Forward", "Go to the row that was gone back from", (_Standard.Forward, "Alt+Right")),
    ActionSpec("quit", "&Quit", "Close the window and end the engine", (_Standard.Quit, "Ctrl+Q")),
    ActionSpec("copy_name", "Copy &name", "Copy the name of the current row", (), "", True),
    ActionSpec("copy_path", "Copy &path", "Copy the path of the current row", ("Ctrl+Shift+C",), "copy", True),
    ActionSpec(
        "copy_expression",
        "Copy Python &expression",
        "Copy the expression that reaches the current row in what torch.load returns",
        ("Ctrl+Alt+C",),
        "",
        True,
    ),
    ActionSpec("find", "&Find…", "Filter the tree by name", (_Standard.Find,), "search", True),
    ActionSpec("go_to_path", "&Go to path…", "Go to the row at a path", ("Ctrl+G",), "goto", True),
    ActionSpec(
        "go_to_state",
        "Go to optimizer &state",
        "Go to what the optimizer keeps for the current parameter",
        ("Ctrl+J",),
        "",
        True,
    ),
    ActionSpec(
        "go_to_parameter",
        "Go to pa&rameter",
        "Go to the parameter that the current optimizer state is for",
        ("Ctrl+Shift+J",),
        "",
        True,
    ),
    ActionSpec(
        "whole_file",
        "The file as a &whole",
        "Show what the file is, and what is in it as a whole",
        ("Alt+Home",),
        "",
        True,
    ),
    ActionSpec(
        "checks", "&Checks", "Show what to know before training goes on from this file", ("Ctrl+K",), "", True
    ),
    ActionSpec("theme_system", "&System", "Light or dark as the desktop is", checkable=True),
    ActionSpec("theme_light", "&Light", "Light colours", checkable=True),
    ActionSpec("theme_dark", "&Dark", "Dark colours", checkable=True),
    ActionSpec(
        "group_names",
        "&Group dotted names",
        "Fold names like layer1.0.weight into a tree, or list them flat",
        checkable=True,
    ),
    ActionSpec(
        "natural_order", "&Natural order", "layer2 before layer10; off: the order in the file", checkable=True
    ),
    ActionSpec(
        "scan",
        "&Scan all values",
        "Read all tensors: fills columns of the tree, and finds NaN, inf, zeros and dead units; again: anew",
        ("F9",),
        "scan",
        True,
    ),
    ActionSpec("clear_scans", "Clear &kept scans", "Delete what scans of earlier files left in the cache folder"),
    ActionSpec(
        "expand", "&Expand all inside", "Open the current row and everything inside", ("Ctrl+Shift+Right",), "", True
    ),
    ActionSpec(
        "collapse",
        "&Collapse all inside",
        "Close the current row and everything inside",
        ("Ctrl+Shift+Left",),
        "",
        True,
    ),
    ActionSpec("zoom_in", "&Larger text", "Make all text larger", (_Standard.ZoomIn, "Ctrl+=")),
    ActionSpec("zoom_out", "S&maller text", "Make all text smaller", (_Standard.ZoomOut,)),
    ActionSpec("zoom_reset", "Nor&mal text", "Give all text the desktop's size", ("Ctrl+0",)),
    ActionSpec("full_screen", "F&ull screen", "Fill the screen, or give it back", (_Standard.FullScreen, "F11")),
    ActionSpec(
        "next_tab", "Ne&xt tab", "Go to the tab on the right", ("Ctrl+PgDown", "Ctrl+Tab"), "", True, False, True
    ),
    ActionSpec(
        "previous_tab",
        "&Previous tab",
        "Go to the tab on the left",
        ("Ctrl+PgUp", "Ctrl+Shift+Tab"),
        "",
        True,
        False,
        True,
    ),
    ActionSpec("compare", "&Compare…", "Compare two checkpoints, open or not", ("Ctrl+D",)),
    ActionSpec(
        "compare_this",
        "Compare this &row with…",
        "Compare the current row with a part of this or another file",
        (),
        "",
        True,
    ),
    ActionSpec(
        "compare_selected",
        "Compare the two selecte&d rows",
        "Compare two parts of this file, such as the live weights and their average; Ctrl+click selects the second",
        ("Ctrl+Alt+D",),
        "",
        True,
    ),
    ActionSpec("compare_overview", "&Overview", "Show the comparison as a whole", on_comparison=True),
    ActionSpec(
        "sort_by_change",
        "Sort by &change",
        "Siblings by how much they changed, or back in natural order",
        on_comparison=True,
    ),
    ActionSpec("rename_rules", "&Rename rules…", "Rewrite names before they are matched", on_comparison=True),
    ActionSpec("tolerance", "&Tolerance…", "Choose how close numbers have to be", on_comparison=True),
    ActionSpec(
        "explain",
        "&Why do the bytes differ?",
        "Account for every byte in which the two files differ",
        on_comparison=True,
    ),
    ActionSpec("swap_sides", "&Swap sides", "Exchange left and right of the comparison", on_comparison=True),
    ActionSpec("next_difference", "&Next difference", "Go to the next difference", ("F8",), on_comparison=True),
    ActionSpec(
        "previous_difference", "&Previous difference", "Go to the previous difference", ("F7",), on_comparison=True
    ),
    ActionSpec("shortcuts", "&Keyboard shortcuts", "List the keys", (_Standard.HelpContents, "F1")),
    ActionSpec("about", "&About Checkpoint Viewer", "Version and licence"),
)

MENUS: Final[Mapping[str, tuple[str, ...]]] = {
    "&File": (
        "open", "open_folder", "open_sample", "recent>", "reopen_session", "-", "reload", "properties", "close", "-",
        "export", "export_this", "verify", "content_name", "-", "settings", "-", "quit",
    ),
    "&Edit": (
        "copy_name", "copy_path", "copy_expression", "-", "find", "go_to_path", "back", "forward", "go_to_state",
        "go_to_parameter",
    ),
    "&View": (
        "whole_file", "checks", "scan", "clear_scans", "-",
        "theme>", "-", "group_names", "natural_order", "-", "expand", "collapse", "-",
        "zoom_in", "zoom_out", "zoom_reset", "-", "full_screen", "next_tab", "previous_tab",
    ),
    "&Compare": (
        "compare", "compare_this", "compare_selected", "-", "next_difference", "previous_difference",
        "compare_overview", "sort_by_change", "explain", "-", "swap_sides", "rename_rules", "tolerance",
    ),
    "&Help": ("shortcuts", "about"),
}  # fmt: skip
"""The menus: ids of actions, "-" for a line, and "name>" for a submenu."""

TOOLBAR: Final = ("open", "reload", "export", "-", "find", "go_to_path", "copy_path", "-", "scan")


def make_actions(parent: QWidget, handlers: Mapping[str, Callable[..., object]]) -> dict[str, QAction]:
    """One QAction for each entry of ACTIONS, connected to the handler of the same id.

    Handlers of checkable actions take the new state.
    """
    made: dict[str, QAction] = {}
    for spec in ACTIONS:
        action = QAction(spec.text, parent)
        action.setObjectName(spec.id)
        action.setCheckable(spec.checkable)
        action.setShortcuts(_sequences(spec))
        keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
        action.setToolTip(f"{spec.tip} ({keys})" if keys else spec.tip)
        action.setStatusTip(spec.tip)
        (action.toggled if spec.checkable else action.triggered).connect(handlers[spec.id])
        parent.addAction(action)
        made[spec.id] = action
    return made


def make_toolbar(parent: QWidget, actions: Mapping[str, QAction]) -> QToolBar:
    """The one toolbar: what the keyboard has too, for the pointer."""
    toolbar = QToolBar("Tools", parent)
    toolbar.setObjectName("tools")
    toolbar.setMovable(False)
    toolbar.setIconSize(QSize(16, 16))
    toolbar.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
    toolbar.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
    for entry in TOOLBAR:
        if entry == "-":
            toolbar.addSeparator()
        else:
            toolbar.addAction(actions[entry])
    return toolbar


def dress_actions(actions: Mapping[str, QAction], icons: IconSet) -> None:
    """Give the actions their pictures in a theme's colours."""
    for spec in ACTIONS:
        if spec.icon:
            actions[spec.id].setIcon(icons.icon(spec.icon))


def _sequences(spec: ActionSpec) -> list[QKeySequence]:
    sequences: list[QKeySequence] = []
    for key in spec.keys:
        found = QKeySequence.keyBindings(key) if isinstance(key, QKeySequence.StandardKey) else [QKeySequence(key)]
        sequences += [sequence for sequence in found if sequence not in sequences]
    return sequences
