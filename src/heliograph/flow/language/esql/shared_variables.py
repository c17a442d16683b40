"""SHARED variables: they live as long as the flow, and all its instances see them."""

from collections.abc import Callable
from threading import RLock
from typing import Any


class SharedVariables:
    """The shared variables of one flow in one process, and the locks of its BEGIN ATOMIC blocks."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        """By schema, module and name."""
        self._locks: dict[str, RLock] = {}
        self._guard = RLock()

    def initialise(self, name: str, make: Callable[[], Any]) -> None:
        """Give a variable its first value, unless another instance has done so."""
        with self._guard:
            if name not in self.values:
                self.values[name] = make()

    def lock(self, label: str) -> RLock:
        """The lock of all ATOMIC blocks with this label (in their schema); taken by one instance at a time."""
        lock = self._locks.get(label)
        if lock is None:
            with self._guard:
                lock = self._locks.setdefault(label, RLock())
        return lock
