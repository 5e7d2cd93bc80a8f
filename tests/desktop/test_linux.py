"""Installation for one user of a Linux desktop: what is written, what the desktop makes of it, what is left."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from viewer.desktop.defaults import with_default, without
from viewer.desktop.entry import exec_argument
from viewer.desktop.file_types import FILE_TYPES
from viewer.desktop.linux import DESKTOP_FILE, Homes, install, uninstall
from viewer.errors import ViewerError

NEEDED = ("update-mime-database", "update-desktop-database", "xdg-mime", "gio", "xdg-open")
needs_desktop = pytest.mark.skipif(
    any(shutil.which(tool) is None for tool in NEEDED), reason=f"needs {', '.join(NEEDED)}"
)


@pytest.fixture
def homes(tmp_path: Path) -> Homes:
    return Homes(tmp_path / "home/.local/share", tmp_path / "home/.config")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program at an awkward path that writes down its arguments (no "%": GLib 2.74 looks for "%%" there)."""
    path = tmp_path / 'pro gram $1 "x" \\ é' / "checkpoint-viewer-window"
    path.parent.mkdir()
    path.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {shlex.quote(str(tmp_path / "started"))}\n')
    path.chmod(0o755)
    return path


def tree(folder: Path) -> dict[str, bytes]:
    if not folder.exists():
        return {}
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def folders(folder: Path) -> set[str]:
    return (
        {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_dir()} if folder.exists() else set()
    )


def test_that_an_uninstall_leaves_no_trace_and_an_install_can_be_repeated(homes: Homes, program: Path) -> None:
    home = homes.data.parents[1]
    install(program, homes, make_default=True)
    once = tree(home)
    assert (homes.data / "applications" / DESKTOP_FILE).exists()
    assert (homes.data / "icons/hicolor/48x48/apps/checkpoint-viewer.png").read_bytes().startswith(b"\x89PNG")
    install(program, homes, make_default=True)
    assert tree(home) == once
    uninstall(homes)
    assert tree(home) == {}
    assert folders(home) <= {".local", ".local/share", ".config"}
    assert uninstall(homes) == []


def test_that_what_others_have_there_stays(homes: Homes, program: Path) -> None:
    home = homes.data.parents[1]
    (homes.data / "applications").mkdir(parents=True)
    (homes.data / "applications/other.desktop").write_text("[Desktop Entry]\nType=Application\nName=x\nExec=x\n")
    (homes.data / "mime/packages").mkdir(parents=True)
    (homes.data / "icons/hicolor/48x48/apps").mkdir(parents=True)
    (homes.data / "icons/hicolor/48x48/apps/other.png").write_bytes(b"x")
    homes.config.mkdir(parents=True)
    mine = (
        "# mine\n[Default Applications]\ntext/plain=editor.desktop;\n\n[Removed Associations]\nimage/png=x.desktop;\n"
    )
    homes.defaults.write_text(mine)
    before = tree(home)
    install(program, homes, make_default=True)
    assert "application/x-safetensors=checkpoint-viewer.desktop;" in homes.defaults.read_text()
    uninstall(homes)
    left = tree(home)
    assert {name: left[name] for name in before if "mimeapps" not in name} == {
        name: content for name, content in before.items() if "mimeapps" not in name
    }
    assert homes.defaults.read_text().split() == mine.split()


def test_that_a_dry_run_changes_nothing(homes: Homes, program: Path) -> None:
    steps = install(program, homes, make_default=True, dry_run=True)
    assert any(DESKTOP_FILE in step.says for step in steps)
    assert not homes.data.exists()
    install(program, homes)
    before = tree(homes.data)
    assert any("remove" in step.says for step in uninstall(homes, dry_run=True))
    assert tree(homes.data) == before


def test_that_a_manifest_of_somebody_else_removes_nothing_outside(homes: Homes, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("x")
    homes.manifest.parent.mkdir(parents=True)
    homes.manifest.write_text(
        f'{{"files": ["{victim}", "{homes.data}/../../../victim", 7], "folders": ["{tmp_path}"]}}'
    )
    uninstall(homes)
    assert victim.exists()
    homes.manifest.write_text("[1, 2")
    assert uninstall(homes) == []


def test_that_a_home_that_cannot_be_written_is_said(homes: Homes, program: Path) -> None:
    homes.data.parent.mkdir(parents=True)
    homes.data.write_text("a file in the way")
    with pytest.raises(ViewerError, match="cannot be written"):
        install(program, homes)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "[Default Applications]\na/b=x.desktop;\n"),
        ("[Default Applications]\na/b=y.desktop\n", "[Default Applications]\na/b=x.desktop;y.desktop;\n"),
        ("[Default Applications]\na/b=y.desktop;x.desktop;\n", "[Default Applications]\na/b=x.desktop;y.desktop;\n"),
        ("[Other]\na/b=z\n", "[Other]\na/b=z\n[Default Applications]\na/b=x.desktop;\n"),
    ],
)
def test_that_a_default_is_put_first_and_taken_back(text: str, expected: str) -> None:
    assert with_default(text, "x.desktop", ["a/b"]) == expected
    assert "x.desktop" not in without(expected, "x.desktop")
    assert without("[Default Applications]\na/b=x.desktop;\n", "x.desktop") == ""


def test_that_paths_are_quoted_as_the_specification_asks() -> None:
    assert exec_argument("/a b/c") == '"/a b/c"'
    assert exec_argument('/a"b`c$d\\e%f') == '"/a\\\\"b\\\\`c\\\\$d\\\\\\\\e%%f"'


@needs_desktop
def test_that_the_desktop_opens_checkpoints_with_the_program(
    homes: Homes, program: Path, tmp_path: Path, sample_path: Path
) -> None:
    install(program, homes, make_default=True)
    checked = shutil.which("desktop-file-validate")
    if checked is not None:
        done = subprocess.run(
            [checked, str(homes.data / "applications" / DESKTOP_FILE)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout
    environment = {
        **os.environ, "HOME": str(homes.data.parents[1]), "XDG_DATA_HOME": str(homes.data),
        "XDG_CONFIG_HOME": str(homes.config), "XDG_CURRENT_DESKTOP": "GNOME", "DISPLAY": "",
    }  # fmt: skip

    def says(*command: str) -> str:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60, check=False)
        return done.stdout + done.stderr

    for each in FILE_TYPES:
        assert says("xdg-mime", "query", "default", each.mime).strip() == DESKTOP_FILE
        assert DESKTOP_FILE in says("gio", "mime", each.mime)
    copy = tmp_path / "a model's é.pth"
    shutil.copy(sample_path, copy)
    assert "application/x-pytorch-checkpoint" in says("gio", "info", "-a", "standard::content-type", str(copy))
    says("xdg-open", str(copy))
    started = tmp_path / "started"
    deadline = time.monotonic() + 30
    while not (started.exists() and started.read_text()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert started.read_text().splitlines() == [str(copy)]


def test_that_the_commands_install_and_uninstall(
    homes: Homes, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from viewer.cli.main import main

    monkeypatch.setenv("XDG_DATA_HOME", str(homes.data))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(homes.config))
    assert main(["install-desktop", "--dry-run"]) == 0
    assert not homes.data.exists()
    assert main(["install-desktop"]) == 0
    assert f"write {homes.data}" in capsys.readouterr().out
    entry = (homes.data / "applications" / DESKTOP_FILE).read_text()
    assert 'checkpoint-viewer-window" %F' in entry
    assert main(["uninstall-desktop"]) == 0
    assert not homes.manifest.exists()
    capsys.readouterr()
    assert main(["uninstall-desktop"]) == 0
    assert capsys.readouterr().out == "nothing is installed\n"
