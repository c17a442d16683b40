"""Time zones for tests of local and Greenwich time."""

import time
from collections.abc import Callable, Iterator

import pytest


@pytest.fixture
def zone(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Puts the process into a zone, such as `Europe/Berlin` or `EST5EDT`."""

    def enter(name: str) -> None:
        monkeypatch.setenv("TZ", name)
        time.tzset()

    yield enter
    monkeypatch.undo()
    time.tzset()
