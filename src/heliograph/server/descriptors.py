"""How many file descriptors there are for whom: clients must not take those that the log and the pages need."""

import resource

MOST_PAGES = 64
"""Connections to the operators' pages at once."""
_FOR_ONE_PAGE = 3
"""Descriptors that an answer may take: its connection, a copy of it, and a file of a stream."""
_OWN = 64
"""Descriptors of the server's own: the log, listening sockets, the event loop."""


def _all() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def most_clients() -> int:
    """Clients that there are descriptors for; where there are few, half of them."""
    there = _all()
    return there - min(_OWN + _FOR_ONE_PAGE * MOST_PAGES, there // 2)


def most_pages() -> int:
    """Connections to the pages that there are descriptors for."""
    return max(1, min(MOST_PAGES, _all() // 16))
