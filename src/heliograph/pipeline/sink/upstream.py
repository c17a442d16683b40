"""Whether the rows of a task have all come.

When something before the sink fails in a task, Spark closes its end of the socket to the sink's worker, and Arrow takes
that for the end of the rows: the writer sees a part of them, and an orderly end. (Spark fails the task later, and
repeats it.) What was published until then is counted, so it does no harm; but where rows come in another order when a
task is repeated, as they may after a shuffle, a count says nothing. So a task that was cut short undoes its last unit.
"""

import os
import select
import stat

from heliograph.errors import Problem


def check_that_all_came() -> None:
    """A `Problem` if the other end of the socket to Spark is closed, though the task still runs."""
    sockets = [descriptor for descriptor in _descriptors() if _is_socket(descriptor)]
    poll = select.poll()
    for descriptor in sockets:
        poll.register(descriptor, select.POLLRDHUP)
    if any(event & select.POLLRDHUP for _, event in poll.poll(0)):
        raise Problem("the rows of this task came to an end before their time; what was not committed is undone")


def _descriptors() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/dev/fd")]
    except OSError:
        return []


def _is_socket(descriptor: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    except OSError:
        return False
