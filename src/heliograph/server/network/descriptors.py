"""How many file descriptors there are for whom: clients must not take those that the log and the pages need."""

import resource

_FOR_ONE_PAGE = 3
"""Descriptors that an answer may take: its connection, a copy of it, and a file of a stream."""
_PART_FOR_PAGES = 8
"""The part of all descriptors that the pages can have."""
_OWN = 64
"""Descriptors of the server's own: the log, listening sockets, the event loop."""


def _all() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def most_clients() -> int:
    """Clients that there are descriptors for, with those aside that are for the pages and the server itself."""
    there = _all()
    return there - min(_OWN, there // 2) - there // _PART_FOR_PAGES


def most_pages(wanted: int) -> int:
    """Connections to the pages that there are descriptors for, of those that are wanted."""
    return max(1, min(wanted, _all() // _PART_FOR_PAGES // _FOR_ONE_PAGE))
