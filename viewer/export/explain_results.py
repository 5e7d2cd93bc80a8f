"""Why two files differ in bytes. Plain data that travels between processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Reason:
    """One reason for differing bytes.

    Attributes
    ----------
    text
        What differs, as a clause.
    a_nbytes, b_nbytes
        Bytes of either file that differ for it, or that the other file has nothing like.
    where
        The first place: a path, a record.
    a_at, b_at
        Offset of the first such byte; -1 where there is none.
    places
        How many.
    in_content
        True for differences of the content itself.
    """

    text: str
    a_nbytes: int
    b_nbytes: int
    where: str
    a_at: int = -1
    b_at: int = -1
    places: int = 1
    in_content: bool = False


@dataclass(frozen=True, slots=True)
class Explanation:
    """The comparison of two files byte by byte.

    Attributes
    ----------
    a_same, b_same
        Bytes of either file that are equal to their counterpart, wherever that stands.
    moved_nbytes
        Of those, bytes that stand at another offset.
    reasons
        The largest first. With the same bytes and the unexplained ones they add up to the sizes.
    a_unexplained, b_unexplained
        Bytes that differ for no reason found.
    a_digest, b_digest
        Names of the contents (SHA-256); "" where one cannot be made.
    content
        What differs in the content: sentences.
    verdict
        One sentence.
    """

    a: Path
    b: Path
    a_nbytes: int
    b_nbytes: int
    a_same: int
    b_same: int
    moved_nbytes: int
    reasons: list[Reason]
    a_unexplained: int
    b_unexplained: int
    a_digest: str
    b_digest: str
    content: list[str] = field(default_factory=list)
    verdict: str = ""

    @property
    def same_bytes(self) -> bool:
        return self.a_nbytes == self.b_nbytes == self.a_same

    @property
    def same_content(self) -> bool:
        return bool(self.a_digest) and self.a_digest == self.b_digest
