"""Qt's system libraries and the tools for a virtual screen: find what is missing, install it where that is possible.

The PySide6 wheel brings Qt, not the libraries of the system that Qt opens its windows with. What is missing is found
by loading each library, not by asking the package manager, so nothing happens on a machine where they came another
way. Installing needs apt-get, and root or a sudo that asks for no password; otherwise one line says what to run.

    python tools/system_libraries.py [--screen | --screen-if-possible] [--test]
"""

from __future__ import annotations

import argparse
import ctypes
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping

# Library to Debian package, for the PySide6-Essentials 6.8 to 6.11 wheels: what libQt6Gui, libQt6Network and the
# platform plugins need (`objdump -p … | grep NEEDED`) and a minimal Debian 12 or 13 does not have. libfontconfig1
# brings freetype and the DejaVu fonts, without which all text is empty boxes.
WINDOW_LIBRARIES: Mapping[str, str] = {
    "libglib-2.0.so.0": "libglib2.0-0",
    "libGL.so.1": "libgl1",
    "libEGL.so.1": "libegl1",
    "libxkbcommon.so.0": "libxkbcommon0",
    "libfontconfig.so.1": "libfontconfig1",
    "libdbus-1.so.3": "libdbus-1-3",
    "libgssapi_krb5.so.2": "libgssapi-krb5-2",
    "libxkbcommon-x11.so.0": "libxkbcommon-x11-0",
    "libxcb-cursor.so.0": "libxcb-cursor0",
    "libxcb-icccm.so.4": "libxcb-icccm4",
    "libxcb-image.so.0": "libxcb-image0",
    "libxcb-keysyms.so.1": "libxcb-keysyms1",
    "libxcb-randr.so.0": "libxcb-randr0",
    "libxcb-render-util.so.0": "libxcb-render-util0",
    "libxcb-shape.so.0": "libxcb-shape0",
    "libxcb-xkb.so.1": "libxcb-xkb1",
}
SCREEN_PROGRAMS: Mapping[str, str] = {"Xvfb": "xvfb"}
TEST_PROGRAMS: Mapping[str, str] = {"xdotool": "xdotool"}


def missing_packages(*, screen: bool, test: bool) -> list[str]:
    """Debian packages that would bring what is not there, sorted, each once."""
    packages = {package for library, package in WINDOW_LIBRARIES.items() if not _loads(library)}
    programs = {**(SCREEN_PROGRAMS if screen or test else {}), **(TEST_PROGRAMS if test else {})}
    packages |= {package for program, package in programs.items() if shutil.which(program) is None}
    return sorted(packages)


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True


def _root_prefix() -> list[str] | None:
    """What to put before a command so that it runs as root; None where that needs a password."""
    if shutil.which("apt-get") is None:
        return None
    if os.geteuid() == 0:
        return []
    if shutil.which("sudo") is not None:
        asked = subprocess.run(["sudo", "-n", "true"], capture_output=True, check=False)
        if asked.returncode == 0:
            return ["sudo", "-n"]
    return None


def install(packages: list[str]) -> bool:
    """Install Debian packages; True when apt-get says that it did."""
    prefix = _root_prefix()
    if prefix is None:
        return False
    print(f"set-up: installing {' '.join(packages)}", file=sys.stderr, flush=True)
    apt = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120"]
    wanted = [*apt, "install", "-y", "--no-install-recommends", *packages]
    # The package lists of a fresh machine are empty or old, so they are fetched first. Where that fails the install
    # is tried all the same: the packages may lie in the cache.
    subprocess.run([*apt, "update"], stdout=subprocess.DEVNULL, check=False)
    return subprocess.run(wanted, stdout=subprocess.DEVNULL, check=False).returncode == 0


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Find and install Qt's system libraries.")
    parser.add_argument("--screen", action="store_true", help="also what a virtual screen needs")
    parser.add_argument("--screen-if-possible", action="store_true", help="the same, and go on without it")
    parser.add_argument("--test", action="store_true", help="also what the tests need")
    options = parser.parse_args(arguments)
    if not sys.platform.startswith("linux"):
        return 0
    wished = missing_packages(screen=options.screen or options.screen_if_possible, test=options.test)
    if wished:
        install(wished)
    missing = missing_packages(screen=options.screen, test=options.test)
    if missing:
        print(
            f"set-up: {' '.join(missing)} missing (Debian's package names). "
            f"Run: sudo apt-get install {' '.join(missing)}   and then this again.",
            file=sys.stderr,
        )
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
