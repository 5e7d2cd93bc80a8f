"""The project as a whole: versions, layers, packaging, and the rules that no single room can hold."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication, QLabel

from viewer.resources import resource_path

ROOT = Path(__file__).parents[1]
MOST_LINES = 400


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )


def pyproject() -> dict[str, object]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pins() -> dict[str, Version]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonical(name): Version(version) for name, version in pairs}


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def requirements() -> list[Requirement]:
    """All requirements of the project and its extras that apply to this Python."""
    project = pyproject()["project"]
    assert isinstance(project, dict)
    texts = [
        *project["dependencies"],
        *(text for extra in project["optional-dependencies"].values() for text in extra),
    ]
    found = [Requirement(text) for text in texts]
    return [one for one in found if one.name != "checkpoint-viewer" and (one.marker is None or one.marker.evaluate())]


class Sender(QObject):
    sent = Signal(object)


def test_that_void_qt_calls_take_no_reference_from_none_or_true(qapp: QApplication) -> None:
    # PySide6 6.12.0 loses one for each call below Python 3.12, and the program aborts when none is left. No other
    # test would show it: pytest itself makes new references all the time.
    label, sender = QLabel(), Sender()
    none_before, true_before = sys.getrefcount(None), sys.getrefcount(True)
    for number in range(1_000):
        label.setText(str(number))
        sender.sent.emit(True)
    assert abs(sys.getrefcount(None) - none_before) < 100
    assert abs(sys.getrefcount(True) - true_before) < 100


def test_that_every_requirement_is_pinned_to_a_version_that_it_accepts() -> None:
    pinned = pins()
    for requirement in requirements():
        version = pinned[canonical(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement} does not accept {version}"


def test_that_qt_is_pinned_below_the_release_that_aborts() -> None:
    assert pins()["pyside6-essentials"] < Version("6.12")
    assert sys.version_info >= (3, 12) or Version(metadata.version("PySide6-Essentials")) < Version("6.12")


def test_that_torch_is_pinned_without_a_build_tag() -> None:
    # "2.13.0" is met by every build of that release (CPU, CUDA, ROCm); "2.13.0+cpu" by one alone.
    assert pins()["torch"] == Version("2.13.0")
    assert pins()["torch"].local is None


def test_that_importing_the_package_imports_nothing_heavy() -> None:
    program = (
        "import sys, viewer\n"
        "import viewer.checkpoint.document, viewer.formats.opening\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules}"
        " & {'torch', 'numpy', 'PySide6', 'pyqtgraph', 'safetensors'}))"
    )
    result = run(sys.executable, "-c", program)
    assert (result.returncode, result.stdout) == (0, "[]\n"), result.stderr


def test_that_the_api_opens_a_checkpoint_without_torch(sample_path: Path) -> None:
    program = (
        "import sys, viewer\n"
        "checkpoint = viewer.open_checkpoint(sys.argv[1])\n"
        "print(checkpoint.container, len(checkpoint.tensors), 'torch' in sys.modules, 'numpy' in sys.modules)"
    )
    result = run(sys.executable, "-c", program, sample_path)
    assert result.returncode == 0, result.stderr
    assert re.fullmatch(r"torch zip [1-9][0-9]* False False\n", result.stdout)


def test_that_the_layers_hold() -> None:
    result = run(Path(sys.executable).with_name("lint-imports"), "--no-logo", "--no-cache")
    assert result.returncode == 0, result.stdout + result.stderr


def test_that_no_module_is_longer_than_one_can_read() -> None:
    folders = [ROOT / name for name in ("viewer", "benchmarks", "tools")]
    lengths = {
        path.relative_to(ROOT): len(path.read_text(encoding="utf-8").splitlines())
        for folder in folders
        for path in folder.rglob("*.py")
    }
    assert len(lengths) > 20
    assert {path: lines for path, lines in lengths.items() if lines > MOST_LINES} == {}


def test_that_the_desktop_entry_starts_the_window_with_the_files() -> None:
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment, method-assign]
    parser.read(resource_path("checkpoint-viewer.desktop"), encoding="utf-8")
    entry = parser["Desktop Entry"]
    project = pyproject()["project"]
    assert isinstance(project, dict)
    program, argument = entry["Exec"].split()
    assert entry["Type"] == "Application"
    assert program in project["gui-scripts"]
    assert argument == "%F"
    assert entry["TryExec"] == program
    assert resource_path(f"icons/{entry['Icon']}.svg").is_file()
    assert set(entry["MimeType"].strip(";").split(";")) <= set(mime_types())


def mime_types() -> dict[str, set[str]]:
    """The globs of each type in the MIME file."""
    space = "{http://www.freedesktop.org/standards/shared-mime-info}"
    root = ET.parse(resource_path("checkpoint-viewer-mime.xml")).getroot()
    assert root.tag == f"{space}mime-info"
    return {
        element.attrib["type"]: {glob.attrib["pattern"] for glob in element.findall(f"{space}glob")}
        for element in root.findall(f"{space}mime-type")
    }


def test_that_the_file_types_claim_checkpoints_and_leave_path_files_to_python() -> None:
    types = mime_types()
    assert types["application/x-pytorch-checkpoint"] == {"*.pth", "*.pt", "*.ckpt", "*.th", "*.pt2"}
    assert types["application/x-safetensors"] == {"*.safetensors"}
    # The same glob twice makes the desktop look into the file to choose.
    assert types["text/x-python-pth"] == {"*.pth"}


@pytest.mark.skipif(shutil.which("update-mime-database") is None, reason="shared-mime-info is not installed")
@pytest.mark.skipif(shutil.which("gio") is None, reason="gio is not installed")
def test_that_the_desktop_tells_a_checkpoint_from_a_path_file(tmp_path: Path, sample_path: Path) -> None:
    packages = tmp_path / "mime" / "packages"
    packages.mkdir(parents=True)
    shutil.copy(resource_path("checkpoint-viewer-mime.xml"), packages)
    made = run("update-mime-database", tmp_path / "mime", XDG_DATA_HOME=str(tmp_path))
    assert made.returncode == 0, made.stderr
    path_file = tmp_path / "easy-install.pth"
    path_file.write_text("/usr/lib/python3/dist-packages\nimport site\n", encoding="utf-8")
    unnamed = tmp_path / "weights.bin"
    shutil.copy(sample_path, unnamed)
    for path, expected in {
        sample_path: "application/x-pytorch-checkpoint",
        unnamed: "application/x-pytorch-checkpoint",
        path_file: "text/x-python-pth",
    }.items():
        told = run("gio", "info", "-a", "standard::content-type", path, XDG_DATA_HOME=str(tmp_path))
        assert told.stdout.split()[-1] == expected, path


def test_that_the_icon_can_be_drawn(qapp: QApplication) -> None:
    image = QImage(str(resource_path("icons/checkpoint-viewer.svg")))
    assert (image.width(), image.height()) == (128, 128)
    assert image.pixelColor(64, 12).alpha() == 255
    assert image.pixelColor(0, 0).alpha() == 0


def test_that_the_wheel_holds_the_resources_and_works_where_it_is_installed(tmp_path: Path) -> None:
    built = run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path)
    assert built.returncode == 0, built.stdout + built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "viewer/_resources/samples/training-step-0400.pth" in names
    assert not [name for name in names if name.startswith(("tests/", "resources/", "benchmarks/"))]
    site = tmp_path / "site"
    installed = run(sys.executable, "-m", "pip", "install", "--no-deps", "--no-index", "--target", site, wheel)
    assert installed.returncode == 0, installed.stdout + installed.stderr
    program = (
        "import viewer\n"
        "from viewer.resources import resource_path\n"
        "sample = resource_path('samples/training-step-0400.pth')\n"
        "print(viewer.__file__, sample, viewer.open_checkpoint(sample).container, sep='\\n')"
    )
    result = run(sys.executable, "-c", program, cwd=tmp_path, PYTHONPATH=str(site))
    module, sample, container = result.stdout.splitlines()
    assert Path(module).is_relative_to(site)
    assert Path(sample).is_relative_to(site)
    assert container == "torch zip"
