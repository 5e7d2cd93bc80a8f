"""A content made ready to be written: its values, its records, and the bytes of the whole file, piece by piece."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from viewer.checkpoint.document import Checkpoint
from viewer.errors import LimitExceeded
from viewer.export.options import ExportOptions, ExportPlan, Finding
from viewer.export.pickle_writer import write_pickle
from viewer.export.reading import ContentReader
from viewer.export.record_bytes import RecordSource
from viewer.export.safetensors_writer import fitted, safetensors_file
from viewer.export.selection import part_of, with_prefix
from viewer.export.values import Record, TensorValue, Value, tensors_in
from viewer.export.zip_writer import Buffer, ZipRecord, zip_nbytes, zip_stream
from viewer.formats.content import Content, content_task
from viewer.task import Task

FOLDER = "archive/"
FORM = b"form 1\n"
FORM_WITH_STRIDES = b"form 1 strides\n"


@dataclass
class Prepared:
    """A content and the form to write it in.

    Attributes
    ----------
    checkpoint
        Where the records come from.
    records
        In the order of their numbers.
    nbytes
        Size of the file; 0 where something stands in the way.
    stream
        Gives the bytes of the file.
    """

    checkpoint: Checkpoint
    options: ExportOptions
    root: Value
    findings: list[Finding]
    pickle: bytes
    records: list[Record]
    nbytes: int
    stream: Callable[[RecordSource], Iterator[Buffer]]

    @cached_property
    def plan(self) -> ExportPlan:
        return ExportPlan(
            self.options,
            self.nbytes,
            sum(1 for _ in tensors_in(self.root)),
            len(self.records),
            sum(record.nbytes for record in self.records),
            self.findings,
        )

    @property
    def obstacles(self) -> list[Finding]:
        """What stands in the way."""
        return [finding for finding in self.findings if finding.kind == "cannot"]


def prepare_task(path: str | os.PathLike[str], options: ExportOptions) -> Task[Prepared]:
    """Read the content of a file and make it ready. No tensor data is read.

    Raises
    ------
    ViewerError
        As opening does, and where the options ask for what is not there. What cannot be written is a finding.
    """
    content = yield from content_task(path)
    try:
        return prepared(content, options)
    except RecursionError as error:
        raise LimitExceeded("the content is nested too deeply", path=content.checkpoint.path) from error


def prepared(content: Content, options: ExportOptions) -> Prepared:
    """Make a content ready that was read already."""
    # Nearly all that is made lives until the end: collecting in between only costs.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return _prepared(content, options)
    finally:
        if was_enabled:
            gc.enable()


def _prepared(content: Content, options: ExportOptions) -> Prepared:
    checkpoint = content.checkpoint
    root, keys, notes = part_of(content, options)
    reader = ContentReader(checkpoint, options)
    reader.findings.keys[:] = keys
    for kind, text in notes:
        reader.findings.add_whole(kind, text)
    value = with_prefix(reader.read(root), options, reader.findings)
    findings = reader.findings
    if options.flavour == "safetensors":
        findings.keys[:] = keys
        value = fitted(value, findings, drop=options.objects == "drop")
    pickle, records = write_pickle(value)
    nbytes = 0
    stream: Callable[[RecordSource], Iterator[Buffer]] = _nothing
    possible = not any(found.kind == "cannot" for found in findings.found)
    if possible and options.flavour == "safetensors":
        file = safetensors_file(value, findings)
        nbytes, stream = file.nbytes, file.stream
    elif possible:
        parts = _zip_records(pickle, records, options)
        nbytes = zip_nbytes(parts)
        stream = partial(_pth_stream, parts)
    return Prepared(checkpoint, options, value, findings.all(), pickle, records, nbytes, stream)


def tensor_paths(prepared: Prepared) -> Iterator[tuple[str, TensorValue]]:
    """Every tensor that has a record, once, with the path under which it is first written."""
    for value in tensors_in(prepared.root):
        if value.record is not None:
            yield value.record.path, value


def _pth_stream(parts: list[ZipRecord], source: RecordSource) -> Iterator[Buffer]:
    return zip_stream(parts, source.chunks, source.check_sum)


def _zip_records(pickle: bytes, records: list[Record], options: ExportOptions) -> list[ZipRecord]:
    heads = (
        ("data.pkl", pickle),
        (".canonical", FORM_WITH_STRIDES if options.keep_strides else FORM),
        ("byteorder", b"little"),
        ("version", b"3\n"),
    )
    made = [ZipRecord(FOLDER + name, len(data), data) for name, data in heads]
    made += [ZipRecord(f"{FOLDER}data/{number}", record.nbytes, record) for number, record in enumerate(records)]
    return made


def _nothing(_source: RecordSource) -> Iterator[Buffer]:
    return iter(())
