"""macOS: what the Info.plist of an app bundle says about the types that it opens.

Only a bundle can be associated with types, and the system reads its Info.plist when it sees the bundle, so there is
nothing to install. Files arrive as events (`viewer.gui.file_open`). Not run on macOS by the project's tests: the data
is checked against Apple's rules (Information Property List, "Uniform Type Identifiers").
"""

from __future__ import annotations

from viewer.desktop.file_types import APPLICATION, FILE_TYPES, ID


def info_plist(version: str) -> dict[str, object]:
    """The keys that a bundle adds to its Info.plist."""
    return {
        "CFBundleName": APPLICATION,
        "CFBundleDisplayName": APPLICATION,
        "CFBundleIdentifier": ID,
        "CFBundleShortVersionString": version,
        "NSHighResolutionCapable": True,
        "CFBundleDocumentTypes": [
            {
                "CFBundleTypeName": each.title,
                "CFBundleTypeRole": "Viewer",
                # Others own these suffixes too.
                "LSHandlerRank": "Alternate",
                "LSItemContentTypes": [each.uti],
            }
            for each in FILE_TYPES
        ],
        "UTImportedTypeDeclarations": [
            {
                "UTTypeIdentifier": each.uti,
                "UTTypeDescription": each.title,
                "UTTypeConformsTo": ["public.data"],
                "UTTypeTagSpecification": {
                    "public.filename-extension": [suffix.removeprefix(".") for suffix in each.suffixes],
                    "public.mime-type": [each.mime],
                },
            }
            for each in FILE_TYPES
        ],
    }
