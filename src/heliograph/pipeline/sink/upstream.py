"""Whether a task got all of its rows.

When a step before the sink fails, Spark closes its end of the socket to the sink's worker, and Arrow takes that for the
end of the rows: the writer sees a part of them, and a normal end. (Spark fails the task later, and repeats it.) Rows
published until then are counted, which is enough if the repeated task has the same order. After a shuffle it may not,
and then a count means nothing. So a task that was cut short rolls back its last unit.
"""

import os
import select
import stat
from functools import cache

from heliograph.pipeline.errors import PublishingFailed


class Upstream:
    """The sockets that this process has now, before it has any of ours: they lead to Spark."""

    def __init__(self) -> None:
        self._poll = select.poll()
        for descriptor in map(int, os.listdir("/dev/fd")):
            if _is_socket(descriptor):
                self._poll.register(descriptor, select.POLLRDHUP)

    def check(self) -> None:
        """A `Problem` if the other end of one of them is closed, though the task still runs."""
        if any(event & select.POLLRDHUP for _, event in self._poll.poll(0)):
            raise PublishingFailed("the rows of this task ended before their time; what was not committed is undone")


@cache
def upstream() -> Upstream:
    """That of this process. A worker calls it first before it connects to anything."""
    return Upstream()


def _is_socket(descriptor: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    except OSError:
        return False
