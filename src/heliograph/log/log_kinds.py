"""What records are: the log's own kinds. Kind 0 starts a batch (see `record`); the numbers never change."""

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
