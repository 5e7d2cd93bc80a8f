"""Light and dark: every colour of the window by name, as a palette and a small style sheet.

Widgets that paint themselves take colours from `Theme.tokens` and repaint on `Theme.changed` (or PaletteChange, which
Qt sends at the same time). Nothing else in the window spells a colour out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, get_args

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from viewer.gui.stylesheet import style_sheet

ThemeChoice: TypeAlias = Literal["system", "light", "dark"]
THEME_CHOICES: Final = get_args(ThemeChoice)


@dataclass(frozen=True, slots=True)
class Tokens:
    """The colours of one theme, as "#rrggbb" (or "#aarrggbb" where they are laid over something).

    Attributes
    ----------
    name
        "light" or "dark".
    window, base, raised
        Behind bars and panels; behind trees, tables and plots; chips, badges, progress troughs.
    text, muted, faint
        What is read; what accompanies it; hints and disabled things.
    border, grid
        Lines between areas; lines of plots and tables.
    accent, on_accent
        The one accent, and text on it.
    selected, hovered
        Behind the selected row and the row under the pointer.
    left, right
        The two sides wherever two things are compared.
    identical, close, changed, added, removed, incompatible, pending
        Verdicts: = ≈ ≠ + − ⇄ …
    ok, warning, error
        Messages.
    plot_fill
        Areas under histograms.
    nan, posinf, neginf
        In maps of values: in none of the colours of the sequential or diverging map.
    """

    name: str
    window: str
    base: str
    raised: str
    text: str
    muted: str
    faint: str
    border: str
    grid: str
    accent: str
    on_accent: str
    selected: str
    hovered: str
    left: str
    right: str
    identical: str
    close: str
    changed: str
    added: str
    removed: str
    incompatible: str
    pending: str
    ok: str
    warning: str
    error: str
    plot_fill: str
    nan: str
    posinf: str
    neginf: str

    def color(self, token: str) -> QColor:
        """A colour by its name here."""
        return QColor(getattr(self, token))


LIGHT: Final = Tokens(
    name="light",
    window="#F5F6F8",
    base="#FFFFFF",
    raised="#ECEEF2",
    text="#1B1F24",
    muted="#656C76",
    faint="#8B929C",
    border="#DFE2E7",
    grid="#ECEEF2",
    accent="#2563EB",
    on_accent="#FFFFFF",
    selected="#DCE7FF",
    hovered="#F2F5FB",
    left="#2563EB",
    right="#D9730D",
    identical="#656C76",
    close="#4A7F5E",
    changed="#A8690B",
    added="#22863A",
    removed="#C92A2A",
    incompatible="#7C3AED",
    pending="#8B929C",
    ok="#27813F",
    warning="#A8690B",
    error="#C92A2A",
    plot_fill="#5A2563EB",
    nan="#E6007E",
    posinf="#00B35A",
    neginf="#8A5A00",
)

DARK: Final = Tokens(
    name="dark",
    window="#1E1F22",
    base="#26282C",
    raised="#32353B",
    text="#E7E8EA",
    muted="#9AA0A8",
    faint="#737A84",
    border="#3A3D43",
    grid="#313439",
    accent="#6EA8FE",
    on_accent="#10131A",
    selected="#2C3E61",
    hovered="#2C2F34",
    left="#6EA8FE",
    right="#F2A65A",
    identical="#9AA0A8",
    close="#8FBF9F",
    changed="#E0B04F",
    added="#7CC98F",
    removed="#F07878",
    incompatible="#B79AF7",
    pending="#737A84",
    ok="#7CC98F",
    warning="#E0B04F",
    error="#F07878",
    plot_fill="#5A6EA8FE",
    nan="#FF4FA8",
    posinf="#2EE28A",
    neginf="#C98B2B",
)


class Theme(QObject):
    """Applies one of the two themes to the application and follows the system where the person wants that.

    Signals
    -------
    changed
        Colours or text size are others now; `tokens` and `mono` are new already.
    """

    changed = Signal()

    def __init__(self, app: QApplication, choice: str = "system", zoom: int = 0) -> None:
        super().__init__(app)
        self._app = app
        self._choice: str = choice if choice in THEME_CHOICES else "system"
        self._zoom = zoom
        # Before our own style sheet: a font that the desktop chose stays the measure of all sizes.
        self._system_font = QFont(app.font())
        self._tokens = LIGHT
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(self._follow_system)
        self._apply()

    @property
    def tokens(self) -> Tokens:
        return self._tokens

    @property
    def choice(self) -> str:
        """ "system", "light" or "dark"."""
        return self._choice

    @property
    def zoom(self) -> int:
        """Points added to the system's text size."""
        return self._zoom

    def set_choice(self, choice: str) -> None:
        """Take "light" or "dark", or follow the "system"."""
        if choice in THEME_CHOICES and choice != self._choice:
            self._choice = choice
            self._apply()

    def set_zoom(self, zoom: int) -> None:
        """Make all text larger or smaller by points, within -4 … +12."""
        zoom = max(-4, min(12, zoom))
        if zoom != self._zoom:
            self._zoom = zoom
            self._apply()

    def color(self, token: str) -> QColor:
        """A colour of the present theme by its name in `Tokens`."""
        return self._tokens.color(token)

    def interface_font(self) -> QFont:
        """The face of everything else."""
        font = QFont(self._system_font)
        font.setPointSizeF(self._point_size())
        return font

    def mono(self, delta: int = 0) -> QFont:
        """The face for numbers, shapes and paths; `delta` points larger than the interface's."""
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        font.setStyleHint(QFont.StyleHint.Monospace)
        font.setPointSizeF(max(6.0, self._point_size() - 0.5 + delta))
        return font

    def _point_size(self) -> float:
        size = self._system_font.pointSizeF()
        return (size if size > 0 else 10.0) + self._zoom

    def _follow_system(self) -> None:
        if self._choice == "system":
            self._apply()

    def _apply(self) -> None:
        dark = self._choice == "dark"
        if self._choice == "system":
            # Unknown, which most X desktops report, is light.
            dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
        self._tokens = DARK if dark else LIGHT
        # Each of the three goes to every widget, which takes some 30 ms with a document open.
        if self._app.font() != (font := self.interface_font()):
            self._app.setFont(font)
        if self._app.palette() != (palette := _palette(self._tokens)):
            self._app.setPalette(palette)
        self._app.setStyleSheet(style_sheet(self._tokens, self._point_size(), self.mono().family()))
        self.changed.emit()


def _palette(tokens: Tokens) -> QPalette:
    role = QPalette.ColorRole
    palette = QPalette()
    for which, token in {
        role.Window: "window",
        role.WindowText: "text",
        role.Base: "base",
        role.AlternateBase: "window",
        role.Text: "text",
        role.PlaceholderText: "faint",
        role.Button: "window",
        role.ButtonText: "text",
        role.BrightText: "error",
        role.ToolTipBase: "base",
        role.ToolTipText: "text",
        role.Highlight: "selected",
        role.HighlightedText: "text",
        role.Link: "accent",
        role.LinkVisited: "accent",
        role.Accent: "accent",
        role.Light: "base",
        role.Midlight: "raised",
        role.Mid: "border",
        role.Dark: "border",
    }.items():
        palette.setColor(which, tokens.color(token))
    for which in (role.WindowText, role.Text, role.ButtonText):
        palette.setColor(QPalette.ColorGroup.Disabled, which, tokens.color("faint"))
    return palette
