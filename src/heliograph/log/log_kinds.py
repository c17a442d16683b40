"""The log's own kinds of records, and the bodies of the small ones. The numbers never change.

Kind 0 starts a batch (see `record`). Bodies of messages are in `messages`, `queue_messages` and `mixed_messages`, those
of cursors in `cursor`, and those of groups in `group`.
"""

import struct
from typing import NamedTuple

MESSAGES = 1
"""A span or a run of AMQP messages, and the offsets they got in the cursors they are for."""
ACKS = 2
"""Offsets that cursors are done with, as ranges."""
CURSOR = 3
"""All that is known of a cursor: a new one, or one in a checkpoint."""
CURSOR_DELETED = 4
"""A cursor that nobody wants any more."""
MESSAGES_MOVED = 5
"""What was live in a segment has been copied: here is where it lies now."""
CHECKPOINT = 6
"""From here on everything that is known is written down again, bit by bit, while life goes on."""
CHECKPOINT_COMPLETE = 7
"""All of that is there: whoever opens the log can start at that checkpoint."""
GROUP = 8
"""Several records that are one: all or none of them is there."""
FIRST_APPLICATION_KIND = 32
"""From here on, the numbers are for whoever uses the log."""

COPY = 1
"""Flag of messages that stood elsewhere before: cursors know them already."""

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
