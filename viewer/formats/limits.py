"""How much a file may ask for, as data: one number, one origin each.

Real checkpoints stay far below every number; a hostile one meets them before it can take more than about five seconds
or 500 MB. A limit is never reached in silence: LimitExceeded, or a PROBLEM row that says how much is not shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

KIB: Final = 1 << 10
MIB: Final = 1 << 20
GIB: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds on what reading one file may cost.

    Attributes
    ----------
    pickle_steps
        Steps of the scan, each an opcode or a run of them, at about a third of a microsecond. A million small nodes
        take some three million.
    pickle_payload_nbytes
        Bytes of strings inside one pickle. Pickled numpy arrays and `pickle.dump` of a state_dict hold their values
        there; 2 GB of them are seen in practice.
    pickle_text_nbytes
        The same for text alone.
    pickle_text_memory_nbytes
        Memory of that text, which is up to four times as much where one character of it is wide.
    pickle_structure_nbytes
        Estimated memory of the containers and numbers that any pickle may build. A million one-entry dicts are
        300 MB.
    pickle_structure_per_byte, pickle_structure_most_nbytes
        A large pickle may build so much for each of its bytes, up to the second number. The tensors of an optimizer
        are estimated at 18 bytes for each of their pickle's (400,000 of them at 600 MB, and take 360), short lists
        under names at 15; what is made to fill memory asks for 50 to 300.
    pickle_int_nbytes
        Bytes of one integer. Hashing a number is linear in its size and never cached; keys of 4,096 bits are the
        largest that anyone pickles.
    pickle_globals
        Distinct classes and functions that the pickles of a file name. A whole-module pickle names some hundreds;
        each costs about 1 KB for its stand-in.
    pickle_name_nchars
        Characters of one module and name together.
    nested_pickles
        How deep byte strings that hold pickles of their own (`torch.storage._load_from_bytes`) are followed.
    careful_opcodes, careful_opcodes_per_byte
        Opcodes of a suspicious pickle that the careful unpickler, at about half a microsecond each, will interpret:
        the first number, or so many for each byte where that is more. Tensors in protocol 4 and the entries of a
        distributed checkpoint's `.metadata` have one in two bytes.
    key_weight
        Elements that hashing or comparing one dict key may visit. (A tuple's hash is computed anew each time: 51
        bytes of nested pairs ask for hours.)
    key_depth
        How deep tuples in a dict key may be nested. C code hashes them recursively without a check; some 50,000
        levels overflow an 8 MiB stack.
    key_collisions
        Keys of one dict that may share one hash. Honest keys share it by pairs at most (-1 and -2).
    tensor_dims
        Dimensions of one tensor. torch itself works with 64 (`c10`, TensorIterator).
    nodes
        Rows of the tree. Half as many again as the largest honest files have.
    tree_depth
        Levels of the tree. Whole modules reach some 50; what draws trees recurses.
    shared_leaves
        A tuple met again is shown again, not linked, up to this many leaf items (`betas` of an optimizer).
    key_nchars, text_nchars
        Characters kept of the repr of an unusual dict key, and of the text of an unusual value.
    text_visits
        Objects that the texts of all unusual keys and notes together may look at, at about half a microsecond each.
    bytes_nbytes
        Bytes of one bytes value that a row holds; of a longer one it has length, digest and beginning. Rows travel
        between processes.
    zip_entries
        Records of one archive. A 40,000-tensor checkpoint has 40,006.
    inflated_nbytes
        Bytes that one deflated record may inflate to when it is read for its structure (pickles, source files). The
        deflate format itself reaches 1,032 times.
    header_nbytes
        Bytes of a safetensors header: the format's own limit (`safetensors/src/tensor.rs`, MAX_HEADER_SIZE).
    """

    pickle_steps: int = 8_000_000
    pickle_payload_nbytes: int = 4 * GIB
    pickle_text_nbytes: int = 100 * MIB
    pickle_text_memory_nbytes: int = 256 * MIB
    pickle_structure_nbytes: int = 400 * MIB
    pickle_structure_per_byte: int = 24
    pickle_structure_most_nbytes: int = GIB
    pickle_int_nbytes: int = 512
    pickle_globals: int = 20_000
    pickle_name_nchars: int = 4_096
    nested_pickles: int = 8
    careful_opcodes: int = 2_000_000
    careful_opcodes_per_byte: float = 0.6
    key_weight: int = 20_000
    key_depth: int = 200
    key_collisions: int = 64
    tensor_dims: int = 64
    nodes: int = 1_500_000
    tree_depth: int = 500
    shared_leaves: int = 16
    key_nchars: int = 300
    text_nchars: int = 1_000
    text_visits: int = 3_000_000
    bytes_nbytes: int = 1 << 16
    zip_entries: int = 1_000_000
    inflated_nbytes: int = 256 * MIB
    header_nbytes: int = 100_000_000


LIMITS: Final = Limits()
