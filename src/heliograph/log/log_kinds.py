"""The log's own kinds of records, and the bodies of the small ones. The numbers never change.

Kind 0 starts a batch (see `record`). Bodies of messages are in `messages`, `queue_messages` and `mixed_messages`, those
of cursors in `cursor`, and those of groups in `group`.
"""

import struct
from typing import NamedTuple

MESSAGES = 1
"""A span or a run of AMQP messages, and their offsets in the cursors that they are for."""
ACKS = 2
"""Offsets that cursors have acknowledged, as ranges."""
CURSOR = 3
"""The whole state of a cursor: a new one, or one in a checkpoint."""
CURSOR_DELETED = 4
"""A cursor that was deleted."""
MESSAGES_MOVED = 5
"""The messages of a segment that are still needed have been copied: where the copies are."""
CHECKPOINT = 6
"""A checkpoint begins: everything that is known is written again, bit by bit, among other records."""
CHECKPOINT_COMPLETE = 7
"""A checkpoint is complete: opening the log can start where it began."""
GROUP = 8
"""Several records in one: after a crash all of them are there, or none."""
FIRST_APPLICATION_KIND = 32
"""From this number on, kinds belong to the user of the log."""

COPY = 1
"""Flag of messages that are copies: cursors know them already."""

ACK = struct.Struct("<IQI")
"""Body of ACKS, again and again: number of a cursor, first offset, how many."""
NUMBER = struct.Struct("<I")
"""Body of CURSOR_DELETED: number of the cursor."""
POSITION = struct.Struct("<Q")
"""Body of CHECKPOINT_COMPLETE: where the checkpoint starts."""
MOVED_HEAD = struct.Struct("<QQ")
MOVED_RUN = struct.Struct("<IQQQQQ")
"""Body of MESSAGES_MOVED: the positions between which messages stood, then runs, each as `MovedRun` has it."""


class MovedRun(NamedTuple):
    """Consecutive messages of a cursor, offsets `lo` to `hi`, and where their copies are: `size` bytes of records."""

    cursor: int
    lo: int
    hi: int
    start: int
    end: int
    size: int
    """0 if none of them is needed: then there are no copies."""


def decode_moved(body: bytes) -> tuple[int, int, list[MovedRun]]:
    """What a record of kind MOVED says: from where to where the messages stood, and where they are now."""
    gone_from, gone_to = MOVED_HEAD.unpack_from(body)
    return gone_from, gone_to, [MovedRun(*run) for run in MOVED_RUN.iter_unpack(body[MOVED_HEAD.size :])]
