"""What a file is that is not a checkpoint, told from its first bytes, never from its name.

`.pth` belongs to Python too (path configuration files), `.bin`, `.pt` and `.ckpt` to many programs, and what a
download leaves behind when it fails often carries the right name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from viewer.errors import NotACheckpoint
from viewer.formats.byte_source import ByteSource

HEAD_NBYTES: Final = 4096
"""Bytes at the start of a file that are enough to tell what it is."""


@dataclass(frozen=True, slots=True)
class Signature:
    """First bytes of a file format, what it is, and what to do with it."""

    magic: bytes
    what: str
    advice: str
    offset: int = 0


_UNPACK: Final = "Unpack it and open what is in it"
_PICTURE: Final = "Choose the checkpoint file instead"
_GGUF: Final = "Convert it to GGUF and open it with a GGUF viewer"
# The names of the formats as little-endian numbers of 32 bits: ggml, ggmf, ggjt, ggla (llama.cpp's convert.py, 2023)
_GGML: Final = (b"lmgg", b"fmgg", b"tjgg", b"algg")
_TENSORFLOW: Final = "Open it with TensorFlow, and save the weights as safetensors to look at them here"

SIGNATURES: Final = (
    Signature(b"\x1f\x8b", "gzip-compressed data", "Unpack it (gunzip) and open the result"),
    Signature(b"\xfd7zXZ\x00", "xz-compressed data", "Unpack it (unxz) and open the result"),
    Signature(b"BZh", "bzip2-compressed data", "Unpack it (bunzip2) and open the result"),
    Signature(b"\x28\xb5\x2f\xfd", "zstd-compressed data", "Unpack it (zstd -d) and open the result"),
    Signature(b"\x04\x22\x4d\x18", "lz4-compressed data", "Unpack it (lz4 -d) and open the result"),
    Signature(b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    Signature(b"Rar!\x1a\x07", "a RAR archive", _UNPACK),
    Signature(b"ustar", "a tar archive, cut short or damaged in its first header", "Fetch it again", 257),
    Signature(b"\x89HDF\r\n\x1a\n", "an HDF5 file (Keras weights, for example)", "Open it with an HDF5 viewer"),
    Signature(b"GGUF", "a GGUF model (llama.cpp)", "Open it with a GGUF viewer"),
    *(Signature(magic, "a GGML model (whisper.cpp, old llama.cpp)", _GGUF) for magic in _GGML),
    Signature(b"PTMF", "a TorchScript flatbuffer for mobile (.ff)", "Save the model with torch.jit.save instead", 4),
    Signature(b"TFL3", "a TensorFlow Lite model", "Open it with a viewer for such models", 4),
    Signature(b"ET12", "an ExecuTorch program", "Open the checkpoint that it was made from", 4),
    Signature(b"PYTORCH1", "an archive of a preview release of torch 1.0", "Load and save it with torch 1.0"),
    Signature(b"\x93NUMPY", "a NumPy array (.npy)", "Load it with numpy.load and save it with torch.save"),
    Signature(b"PAR1", "a Parquet table", "Choose the checkpoint file instead"),
    Signature(b"ARROW1", "an Arrow table", "Choose the checkpoint file instead"),
    Signature(b"SQLite format 3\x00", "an SQLite database", "Choose the checkpoint file instead"),
    Signature(b"\x89PNG\r\n\x1a\n", "a PNG picture", _PICTURE),
    Signature(b"\xff\xd8\xff", "a JPEG picture", _PICTURE),
    Signature(b"GIF8", "a GIF picture", _PICTURE),
    Signature(b"%PDF-", "a PDF document", _PICTURE),
    Signature(b"\x7fELF", "a Linux program or library (ELF)", "Choose the checkpoint file instead"),
    Signature(b"\xcf\xfa\xed\xfe", "a macOS program or library", "Choose the checkpoint file instead"),
    Signature(b"MZ", "a Windows program or library", "Choose the checkpoint file instead"),
    Signature(
        b"\x04\x00\x00\x00\x01\x00\x00\x00", "a Lua Torch7 file", "Convert it with torchfile or an old PyTorch"
    ),
    Signature(
        b"\x04\x00\x00\x00\x03\x00\x00\x00", "a Lua Torch7 file", "Convert it with torchfile or an old PyTorch"
    ),
)

_LFS: Final = re.compile(rb"version https://git-lfs\.github\.com/spec/v1\r?\n(?:[^\r\n]*\r?\n)*?size (\d{1,20})")
_LFS_VERSION: Final = b"version https://git-lfs"
_MARKUP: Final = re.compile(rb"<(?:!doctype html|html|head|body|title|script|meta|!--)", re.IGNORECASE)
_ZLIB: Final = (b"\x78\x01", b"\x78\x5e", b"\x78\x9c", b"\x78\xda")
# Onnx.proto: ir_version (field 1) up to 20, then producer_name (2), producer_version (3), domain (4) or graph (7)
_ONNX: Final = re.compile(rb"\x08[\x01-\x14][\x12\x1a\x22\x3a]")
# MindSpore's checkpoint.proto: repeated Value (1) of a tag (1) and a tensor (2) with dims (1) and a type (2). It is
# proto2, so the dims stand unpacked, each a number with the field's key 08; a scalar has none.
_MINDSPORE: Final = re.compile(
    rb"\x0a[\x80-\xff]{0,9}[\x00-\x7f]\x0a[\x01-\x7f][!-~]{1,127}\x12[\x80-\xff]{0,9}[\x00-\x7f][\x08\x0a\x12]"
)
_TENSORFLOW_INDEX: Final = bytes.fromhex("57fb808b247547db")
"""Last bytes of a LevelDB table, which a TensorFlow checkpoint index is (tensorflow/core/lib/io/format.h)."""
_SHOWN_TEXT: Final = 60


def refuse(head: bytes, source: ByteSource) -> NotACheckpoint:
    """The error that says what a file is which no reader knows."""
    what, advice = what_is(head, source)
    return NotACheckpoint(f"not a checkpoint: this is {what}", path=source.path, advice=advice)


def is_stranger(head: bytes) -> bool:
    """True where the first bytes are those of a known other format."""
    return _signature(head) is not None


def _signature(head: bytes) -> Signature | None:
    return next((known for known in SIGNATURES if head.startswith(known.magic, known.offset)), None)


def what_is(head: bytes, source: ByteSource) -> tuple[str, str]:
    """What a file is that no reader knows, and what to do with it."""
    known = _signature(head)
    if known is not None:
        return known.what, known.advice
    if head.startswith(_LFS_VERSION):
        match = _LFS.match(head)
        size = f"; the real file has {int(match[1])} bytes" if match else ""
        return f"a Git LFS pointer{size}", 'Run "git lfs pull" in its repository to fetch the real file'
    if not head.strip(b"\0"):
        return _zeros(head, source)
    if head.startswith(_ZLIB):
        return "a zlib stream (a joblib dump, perhaps)", "Load it with joblib and save it with torch.save"
    text = _as_text(head)
    if text is not None:
        return _kind_of_text(text)
    if _ONNX.match(head):
        return "an ONNX model, by its first bytes", "Open it with an ONNX viewer"
    if _MINDSPORE.match(head):
        return "a MindSpore checkpoint, by its first bytes", "Open it with MindSpore and save it as safetensors"
    if source.nbytes >= 48 and source.read(source.nbytes - 8, 8) == _TENSORFLOW_INDEX:
        return "a TensorFlow checkpoint index", _TENSORFLOW
    return f"no format that is known here (it begins with {head[:8].hex(' ')})", (
        "If it should be a checkpoint, it is damaged or encrypted: fetch it again"
    )


def _zeros(head: bytes, source: ByteSource) -> tuple[str, str]:
    """Zeros at the start: the whole file is looked at in steps, up to 64 MiB of it."""
    step = 1 << 20
    for offset in range(len(head), min(source.nbytes, 64 << 20), step):
        piece = source.read(offset, min(step, source.nbytes - offset))
        rest = piece.lstrip(b"\0")
        if rest:
            at = offset + len(piece) - len(rest)
            return f"a file whose first {at:,} bytes are zero", "The copy or download went wrong: fetch it again"
    return "a file of nothing but zero bytes", "The copy or download went wrong: fetch it again"


def _as_text(head: bytes) -> str | None:
    """The head as text; None where it is not."""
    for bom, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if head.startswith(bom):
            return head[2:].decode(encoding, "replace")
    try:
        text = head.removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    except UnicodeDecodeError as error:
        if len(head) < HEAD_NBYTES or error.start < len(head) - 4:  # a character may be cut at the end of the head
            return None
        text = head[: error.start].removeprefix(b"\xef\xbb\xbf").decode("utf-8")
    if any(not (character.isprintable() or character.isspace()) for character in text):
        return None
    return text


def _kind_of_text(text: str) -> tuple[str, str]:
    stripped = text.strip()
    if _MARKUP.match(stripped.encode()[:200]):
        return (
            "an HTML page (a login, quota or error page that was saved in place of the file, mostly)",
            "Open the address in a browser, and fetch the file itself",
        )
    if stripped.startswith("<"):
        return "an XML page (an error message of a storage service, mostly)", "Look into it with a text editor"
    if stripped.startswith(("{", "[")):
        return f"JSON text ({_shorten(stripped)})", "If it is an error message, fetch the file again"
    if not stripped:
        return "a text file of blanks only", "Choose another file"
    lines = stripped.splitlines()
    if all(line.startswith(("import ", "/", "#", "./", "../")) or not line.strip() for line in lines[:20]):
        return (
            f"text: a Python path configuration file, it seems ({_shorten(stripped)})",
            "Such .pth files tell Python where modules are; choose a checkpoint",
        )
    return f"a text file ({_shorten(stripped)})", "If it is an error message, fetch the file again"


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN_TEXT else line[: _SHOWN_TEXT - 1] + "…"
