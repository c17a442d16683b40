"""Looking at the messages of a queue without taking any."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from heliograph.broker.queues.consumer import Selector
from heliograph.broker.queues.entry import Entry

if TYPE_CHECKING:
    from heliograph.broker.queues.queue import Queue

_LOOK_AT_ONCE = 256
"""Messages that are read back together."""


def browse(queue: "Queue", selector: Selector | None) -> Iterator[Entry]:
    """All messages that a consumer could get, in order; what comes or goes meanwhile may be seen or not."""
    if not queue.load():
        return
    for lane in list(queue.lanes):
        place = 0
        while place < lane.end:
            some, place = lane.look(place, _LOOK_AT_ONCE)
            some = queue.without_expired(some)
            fetched = queue.fetch(some)
            if fetched is None:
                return
            for entry in some:
                if selector is None or selector(entry.message):
                    yield entry
                entry.parsed = None
            queue.let_go(fetched)
