"""The Map page on the engine's own tasks: its pixels, colours, words, and what it reads when one moves about."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QColor, QGuiApplication, QImage
from PySide6.QtSvg import QSvgRenderer
from pytestqt.qtbot import QtBot

from tests.gui.details.inline_client import DOCUMENT, Stage
from viewer.engine.protocol import Summarise
from viewer.engine.values_requests import ReadKernels, ReadLine, ReadMap
from viewer.gui.details.map_colours import N_COLOURS, colour_table, levels_of
from viewer.gui.details.map_page import MapPage
from viewer.gui.details.map_view import Part
from viewer.gui.details.slice_choice import SliceChoice
from viewer.gui.theme import DARK, LIGHT, Theme


def _tensors() -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(2)
    small = torch.randn(10, 12, generator=generator)
    small[1, 2], small[3, 4], small[5, 6] = math.nan, math.inf, -math.inf
    large = torch.randn(3000, 2000, generator=generator)
    large[1234, 567] = 1e6
    large[2000, 100] = math.nan
    return {
        "small": small,
        "large": large,
        "conv": torch.randn(6, 5, 3, 4, generator=generator),
        "stack": torch.randn(4, 40, 50, generator=generator) * torch.tensor([1.0, 10, 100, 1000]).reshape(4, 1, 1),
        "line": torch.randn(100_000, generator=generator),
        "short": torch.tensor([1.0, math.nan, 3.0]),
        "endless": torch.ones(1).expand(2**33),
        "scalar": torch.tensor(2.5),
        "empty": torch.zeros(3, 0),
        "nan": torch.full((8, 8), math.nan),
        "same": torch.full((8, 8), 1e17),
        "huge": torch.tensor([[3e38, -3e38], [0.0, 1.0]]),
        "mask": torch.eye(9).bool(),
        "spectrum": torch.randn(5, 6, generator=generator, dtype=torch.complex64),
        "half": torch.randn(7, 9, generator=generator).to(torch.bfloat16),
    }


@pytest.fixture
def stage(tmp_path: Path, theme: Theme) -> Iterator[Stage]:
    stage = Stage(tmp_path, theme, _tensors())
    yield stage
    stage.bridge.close()


@pytest.fixture
def page(stage: Stage, qtbot: QtBot) -> MapPage:
    page = MapPage(stage.tools, SliceChoice())
    qtbot.addWidget(page)
    page.resize(700, 560)
    page.show()
    qtbot.waitExposed(page)
    return page


def show(page: MapPage, stage: Stage, qtbot: QtBot, name: str) -> None:
    page.show_node(DOCUMENT, stage.checkpoint, stage.node(name))
    page.set_active(True)
    settle(page, qtbot)


def settle(page: MapPage, qtbot: QtBot) -> None:
    def is_still() -> bool:
        timers = (page._later, page.canvas._rest, page.line._rest)
        return not (
            any(timer.isActive() for timer in timers) or page._part_questions.is_busy or page._whole_questions.is_busy
        )

    qtbot.waitUntil(is_still)


def colour_at(page: MapPage, row: int, column: int) -> QColor:
    """What is painted at the middle of an element."""
    canvas, frame = page.canvas, page.canvas.frame
    x, y = frame.x_of(canvas.part, column + 0.5), frame.y_of(canvas.part, row + 0.5)
    return canvas.grab().toImage().pixelColor(int(x), int(y))


def point(page: MapPage, qtbot: QtBot, row: int, column: int) -> str:
    canvas, frame = page.canvas, page.canvas.frame
    at = QPoint(int(frame.x_of(canvas.part, column + 0.5)), int(frame.y_of(canvas.part, row + 0.5)))
    qtbot.mouseMove(canvas, at)
    canvas._point((row + 0.5, column + 0.5))  # no pointer moves where the screen has none
    return page.about.text()


def test_that_each_element_has_the_colour_of_its_value(page: MapPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "small")
    small = stage.tensors["small"]
    finite = small[small.isfinite()]
    low, high = page.canvas.levels
    assert (low, high) == (-finite.abs().max().item(), finite.abs().max().item())
    table = colour_table("diverging", LIGHT)
    for row, column in ((0, 0), (4, 7), (9, 11)):
        place = round((small[row, column].item() - low) / (high - low) * (N_COLOURS - 1))
        assert colour_at(page, row, column) == QColor.fromRgb(table[place]), (row, column)
    assert page.info.text() == "each pixel is one element"


def test_that_what_is_not_finite_has_colours_of_its_own_and_a_legend(
    page: MapPage, stage: Stage, qtbot: QtBot
) -> None:
    show(page, stage, qtbot, "small")
    assert colour_at(page, 1, 2) == QColor(LIGHT.nan)
    assert colour_at(page, 3, 4) == QColor(LIGHT.posinf)
    assert colour_at(page, 5, 6) == QColor(LIGHT.neginf)
    assert list(page.legend.kinds) == ["NaN", "+inf", "−inf"]
    assert point(page, qtbot, 3, 4) == "[3, 4]  +inf"
    show(page, stage, qtbot, "mask")
    assert page.legend.isHidden()


def test_that_the_cross_hair_tells_index_and_value(page: MapPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "small")
    words = point(page, qtbot, 7, 8)
    index, _, value = words.partition("  ")
    assert index == "[7, 8]"
    assert float(value.replace("−", "-")) == pytest.approx(stage.tensors["small"][7, 8].item(), rel=1e-8)
    qtbot.keyClick(page.canvas, Qt.Key.Key_Down)
    assert page.about.text().startswith("[8, 8]")
    qtbot.keyClick(page.canvas, Qt.Key.Key_Left)
    assert page.about.text().startswith("[8, 7]")
    qtbot.keyClick(page.canvas, Qt.Key.Key_Escape)
    assert page.about.text() == ""


def test_that_no_outlier_disappears_where_a_pixel_is_a_block(page: MapPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "large")
    request = stage.client.of(ReadMap)[-1]
    frame = page.canvas.frame
    assert (request.height, request.width, request.reduce) == (frame.height, frame.width, "absmax")
    assert "the largest magnitude of up to" in page.info.text()
    assert "the largest magnitude 1,000,000 of" in point(page, qtbot, 1234, 567)
    assert "among them NaN" in point(page, qtbot, 2000, 100)
    page.options.choose("mean")
    settle(page, qtbot)
    assert stage.client.of(ReadMap)[-1].reduce == "mean"
    assert page.info.text().startswith("each pixel is the mean of up to")


def test_that_zooming_reads_the_part_in_view_to_the_element(page: MapPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "large")
    page.canvas.set_part(Part(1200.0, 1260.0, 540.0, 600.0))
    settle(page, qtbot)
    request = stage.client.of(ReadMap)[-1]
    assert (request.row_range, request.column_range) == ((1200, 1260), (540, 600))
    assert page.info.text() == "each pixel is one element"
    assert point(page, qtbot, 1234, 567) == "[1234, 567]  1,000,000"
    assert not page.all.isHidden()
    qtbot.keyClick(page.canvas, Qt.Key.Key_Home)
    settle(page, qtbot)
    assert page.canvas.shows_all
    assert page.all.isHidden()


def test_that_dragging_zooms_and_keys_zoom_and_move(page: MapPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "large")
    canvas, frame = page.canvas, page.canvas.frame
    start, end = QPoint(frame.x + 50, frame.y + 60), QPoint(frame.x + 150, frame.y + 160)
    qtbot.mousePress(canvas, Qt.MouseButton.LeftButton, pos=start)
    qtbot.mouseMove(canvas, end)
    qtbot.mouseRelease(canvas, Qt.MouseButton.LeftButton, pos=end)
    part = canvas.part
    assert part.top == pytest.approx(60 / frame.height * 3000, abs=3000 / frame.height)
    assert part.width == pytest.approx(101 / frame.width * 2000, abs=2 * 2000 / frame.width)
    canvas._point(None)
    qtbot.keyClick(canvas, Qt.Key.Key_Plus)
    assert canvas.part.width == pytest.approx(0.8 * part.width)
    left = canvas.part.left
    qtbot.keyClick(canvas, Qt.Key.Key_Right, Qt.KeyboardModifier.ShiftModifier)
    assert canvas.part.left > left
    qtbot.mouseDClick(canvas, Qt.MouseButton.LeftButton)
    assert canvas.shows_all
    settle(page, qtbot)


def test_that_a_slider_steps_through_slices_and_questions_do_not_pile_up(
    page: MapPage, stage: Stage, qtbot: QtBot
) -> None:
    show(page, stage, qtbot, "stack")
    before = len(stage.client.requests)
    stage.client.is_holding = True
    for index in (1, 2, 1, 2, 3):
        page.bar.sliders[0].setValue(index)
    assert len(stage.client.requests) == before + 2  # two under way, and the newest waits
    stage.client.release()
    settle(page, qtbot)
    asked = stage.client.of(ReadMap)
    assert [request.axes.fixed for request in asked[-3:]] == [(1,), (2,), (3,)]
    assert point(page, qtbot, 0, 0).startswith("[3, 0, 0]")
    assert page.canvas.levels[1] == pytest.approx(stage.tensors["stack"][3].abs().max().item())


def test_that_the_range_can_be_that_of_the_whole_tensor(page: MapPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "stack")
    stack = stage.tensors["stack"]
    assert page.canvas.levels[1] == pytest.approx(stack[0].abs().max().item())
    assert stage.client.of(Summarise) == []
    page.options.choose("tensor")
    largest = stack.abs().max().item()
    qtbot.waitUntil(lambda: page.canvas.levels[1] == pytest.approx(largest))
    page.options.choose("inner")
    qtbot.waitUntil(lambda: page.canvas.levels[1] < largest)
    page.options.choose("sequential")
    low, high = page.canvas.levels
    assert low != -high


def test_that_kernels_stand_side_by_side(page: MapPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "conv")
    assert not page.kernels.isHidden()
    page.kernels.click()
    settle(page, qtbot)
    assert len(stage.client.of(ReadKernels)) >= 1
    assert page.info.text() == "30 kernels of 3×4, each pixel one element"
    words = point(page, qtbot, 2 * 4 + 1, 3 * 5 + 2)  # kernel (2, 3), element (1, 2), with a gap after each
    assert words.startswith("[2, 3, 1, 2]")
    value = float(words.partition("  ")[2].replace("−", "-"))
    assert value == pytest.approx(stage.tensors["conv"][2, 3, 1, 2].item(), rel=1e-8)
    assert point(page, qtbot, 3, 0) == ""
    show(page, stage, qtbot, "large")
    assert page.kernels.isHidden()
    assert page.info.text().startswith("each pixel is the largest magnitude")


def test_that_one_axis_is_a_line(page: MapPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "line")
    request = stage.client.of(ReadLine)[-1]
    assert request.index_range == (0, 100_000)
    line = page.line.line
    assert line is not None
    values = stage.tensors["line"].to(torch.float64)
    part = values[line.edges[10] : line.edges[11]]
    assert (line.low[10], line.high[10]) == (part.min().item(), part.max().item())
    page.line.set_part(500.0, 540.0)
    settle(page, qtbot)
    assert stage.client.of(ReadLine)[-1].index_range == (500, 540)
    assert page.line.words(520.5).startswith("[520]  ")
    assert not page.grab().isNull()
    show(page, stage, qtbot, "short")
    assert page.line.words(1.5) == "[1]  NaN"
    assert list(page.legend.kinds) == ["NaN"]
    assert page.line.words(2.5) == "[2]  3"


def test_that_an_axis_may_be_longer_than_32_bits_count(page: MapPage, stage: Stage, qtbot: QtBot) -> None:
    stage.client.is_holding = True  # nobody needs to read so much here
    page.show_node(DOCUMENT, stage.checkpoint, stage.node("endless"))
    page.set_active(True)
    qtbot.waitUntil(lambda: bool(stage.client.of(ReadLine)))
    assert stage.client.of(ReadLine)[-1].index_range == (0, 2**33)
    assert not page.grab().isNull()


def test_that_no_axis_is_a_number(page: MapPage, stage: Stage, qtbot: QtBot) -> None:
    show(page, stage, qtbot, "scalar")
    assert page.number.text() == "2.5"
    assert "bits 0x40200000" in page.about.text()


@pytest.mark.parametrize("name", ["nan", "same", "huge", "mask", "spectrum", "half"])
def test_that_unusual_tensors_are_drawn(page: MapPage, stage: Stage, qtbot: QtBot, name: str) -> None:
    show(page, stage, qtbot, name)
    low, high = page.canvas.levels
    assert low < high
    assert not page.grab().isNull()
    assert point(page, qtbot, 0, 0).startswith("[0, 0]")
    page.options.choose("sequential")
    assert page.canvas.levels[0] < page.canvas.levels[1]
    assert not page.grab().isNull()


def test_that_an_empty_tensor_gets_a_sentence(page: MapPage, stage: Stage) -> None:
    page.show_node(DOCUMENT, stage.checkpoint, stage.node("empty"))
    page.set_active(True)
    assert "3×0 has no elements" in page.notice.text
    assert stage.client.requests == []


def test_that_colours_follow_the_theme(page: MapPage, stage: Stage, qtbot: QtBot, theme: Theme) -> None:
    show(page, stage, qtbot, "small")
    theme.set_choice("dark")
    assert colour_at(page, 1, 2) == QColor(DARK.nan)
    image = page.canvas.grab().toImage()
    assert image.pixelColor(image.width() - 2, image.height() - 2) == QColor(DARK.base)


def test_that_the_picture_is_copied_and_saved(page: MapPage, stage: Stage, qtbot: QtBot, tmp_path: Path) -> None:
    show(page, stage, qtbot, "small")
    page.export.copy_picture.trigger()
    copied = QGuiApplication.clipboard().image()
    assert copied.width() == 2 * page.canvas.width()
    page.export.save("png", str(tmp_path / "map.png"))
    assert QImage(str(tmp_path / "map.png")).size() == 2 * page.canvas.size()
    page.export.save("svg", str(tmp_path / "map.svg"))
    assert QSvgRenderer(str(tmp_path / "map.svg")).isValid()
    assert page.about.text() == "saved map.svg"
    page.export.save("png", str(tmp_path / "missing" / "map.png"))
    assert page.about.text().startswith("⚠ ")


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (3.0, 3.0), (-1.0, 5.0), (-3e38, 3e38), (1e17, 1e17)])
def test_that_levels_are_never_equal(low: float, high: float) -> None:
    for name in ("diverging", "sequential"):
        first, last = levels_of(name, low, high)  # type: ignore[arg-type]
        assert first < last
        assert first <= low <= high <= last
