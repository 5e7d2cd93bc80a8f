"""What is told to Windows and macOS, as data against the rules of either: neither is run here."""

from __future__ import annotations

import plistlib
import re
import xml.etree.ElementTree as ET
from pathlib import PureWindowsPath

import pytest

from viewer.desktop import macos, windows
from viewer.desktop.file_types import FILE_TYPES, ID
from viewer.errors import ViewerError
from viewer.resources import resource_path

PROGRAM = PureWindowsPath(r"C:\Program Files\Checkpoint Viewer\checkpoint-viewer-window.exe")
ICON = PureWindowsPath(r"C:\x\checkpoint-viewer.ico")


def test_that_windows_gets_identifiers_and_no_default_is_taken() -> None:
    values = windows.values(PROGRAM, ICON)
    assert all(value.key.startswith("Software\\") for value in values)
    by_key = {(value.key, value.name): value.data for value in values}
    for each in FILE_TYPES:
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9.]{0,38}", each.prog_id)  # rules of ProgIDs
        command = by_key[(rf"Software\Classes\{each.prog_id}\shell\open\command", "")]
        assert command == rf'"{PROGRAM}" "%1"'
        for suffix in each.suffixes:
            assert by_key[(rf"Software\Classes\{suffix}\OpenWithProgids", each.prog_id)] == ""
            assert (rf"Software\Classes\{suffix}", "") not in by_key
            assert by_key[(rf"{windows.CAPABILITIES}\FileAssociations", suffix)] == each.prog_id


def test_that_everything_windows_gets_is_taken_back() -> None:
    own, shared = windows.own_keys(), set(windows.shared_values())
    for value in windows.values(PROGRAM, ICON):
        inside = any(value.key == key or value.key.startswith(key + "\\") for key in own)
        assert inside or (value.key, value.name) in shared, value
    with pytest.raises(ViewerError, match="Windows only"):
        windows.uninstall()


def test_that_the_bundle_views_the_types_and_imports_what_they_are() -> None:
    plist = plistlib.loads(plistlib.dumps(macos.info_plist("1.2.3")))
    declared = {each["UTTypeIdentifier"] for each in plist["UTImportedTypeDeclarations"]}
    for kind in plist["CFBundleDocumentTypes"]:
        assert kind["CFBundleTypeRole"] == "Viewer"
        assert kind["LSHandlerRank"] == "Alternate"
        assert set(kind["LSItemContentTypes"]) <= declared
    suffixes = [
        suffix
        for each in plist["UTImportedTypeDeclarations"]
        for suffix in each["UTTypeTagSpecification"]["public.filename-extension"]
    ]
    assert not any(suffix.startswith(".") for suffix in suffixes)
    assert set(suffixes) == {"pth", "pt", "ckpt", "th", "pt2", "safetensors"}


def test_that_all_desktops_are_told_of_the_same_types() -> None:
    space = "{http://www.freedesktop.org/standards/shared-mime-info}"
    root = ET.parse(resource_path("checkpoint-viewer-mime.xml")).getroot()
    globs = {
        element.attrib["type"]: {glob.attrib["pattern"] for glob in element.findall(f"{space}glob")}
        for element in root.findall(f"{space}mime-type")
    }
    for each in FILE_TYPES:
        assert globs[each.mime] == {f"*{suffix}" for suffix in each.suffixes}
    metainfo = ET.parse(resource_path("metainfo.xml")).getroot()
    assert metainfo.findtext("id") == ID
    assert {element.text for element in metainfo.iter("mediatype")} == {each.mime for each in FILE_TYPES}
