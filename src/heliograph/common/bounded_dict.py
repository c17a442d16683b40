"""A dictionary with a limit, for caches."""

from collections.abc import Iterable
from itertools import islice
from typing import Any, TypeVar

K = TypeVar("K")
V = TypeVar("V")

_SHARE = 8


class BoundedDict(dict[K, V]):
    """A dictionary with a limit of entries: when it is full, the oldest eighth is dropped.

    A lookup costs as much as in a dict. Several entries are dropped at once because finding the oldest entry of a dict
    takes long after others have been deleted from its front. Setting an existing entry does not make it younger;
    `renew` does.
    """

    __slots__ = ("most",)

    def __init__(self, most: int) -> None:
        """At least one entry is kept."""
        super().__init__()
        self.most = max(1, most)

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= self.most and key not in self:
            for old in list(islice(self, max(1, self.most // _SHARE))):
                self.dropped(old, self.pop(old))
        super().__setitem__(key, value)

    def setdefault(self, key: K, default: V) -> V:
        """As in a dict."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, entries: Iterable[tuple[K, V]]) -> None:  # type: ignore[override]
        """Set these entries, one after the other."""
        for key, value in entries:
            self[key] = value

    def renew(self, key: K) -> None:
        """Make the entry of this key the youngest."""
        super().__setitem__(key, self.pop(key))

    def __reduce__(self) -> tuple[Any, ...]:
        """For copies and pickles: the limit is needed before the entries."""
        return type(self), (self.most,), None, None, iter(self.items())

    def dropped(self, key: K, value: V) -> None:
        """Called with each entry that was dropped. Override it to close what an entry holds."""
