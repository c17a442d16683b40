"""Data loss: messages that a query should read and that are no longer there."""

import logging

from heliograph.pipeline.errors import CheckpointMismatch, DataLoss
from heliograph.pipeline.source.offsets import Offsets

log = logging.getLogger(__name__)


def gone(stream: str, partition: int, offset: int, earliest: int) -> DataLoss:
    """The loss of messages that retention deleted before the query read them."""
    return DataLoss(
        f'stream "{stream}", partition {partition}: offsets {offset} to {earliest - 1} were deleted by retention '
        f"before they were read; the earliest one left is {earliest}. Set failOnDataLoss to false to go on there, "
        "and let the stream keep more (retention_bytes, retention_age)"
    )


def ahead(stream: str, partition: int, offset: int, latest: int) -> DataLoss:
    """The stream is shorter than it was, so it is another one."""
    return DataLoss(
        f'stream "{stream}", partition {partition}: expected offset {offset}, where reading goes on, but the stream '
        f"ends at {latest}: the server's data was thrown away, or this is another server. Use a new "
        "checkpointLocation, or set failOnDataLoss to false to begin with what there is"
    )


def replaced(stream: str) -> DataLoss:
    """The stream was deleted and made again under the same name."""
    return DataLoss(
        f'stream "{stream}" is not the one that was read before: it was thrown away and made anew, or this is another '
        "server. Use a new checkpointLocation, or set failOnDataLoss to false to read it from its beginning"
    )


def beginning_of(stream: str, extents: list[tuple[int, int]], *, fail: bool) -> Offsets:
    """The first offsets of a stream that replaces the one that was read before; `DataLoss` if `fail`."""
    lost = replaced(stream)
    if fail:
        raise lost
    log.warning("%s", lost)
    return {partition: earliest for partition, (earliest, _) in enumerate(extents)}


def readable_from(stream: str, start: Offsets, extents: list[tuple[int, int]], *, fail: bool) -> Offsets:
    """Where each partition can be read from: `start`, or the earliest offset if that is gone; `DataLoss` if `fail`.

    A partition that is not in `start` is new, and read from its beginning.
    """
    found: Offsets = {}
    for partition, (earliest, latest) in enumerate(extents):
        offset = start.get(partition, 0)
        if earliest <= offset <= latest:
            found[partition] = offset
            continue
        lost = (
            gone(stream, partition, offset, earliest) if offset < earliest else ahead(stream, partition, offset, latest)
        )
        if fail:
            raise lost
        log.warning("%s", lost)
        found[partition] = earliest
    if missing := sorted(start.keys() - found.keys()):
        raise CheckpointMismatch(
            f'stream "{stream}": expected partitions {", ".join(map(str, missing))} as before, found none'
        )
    return found
