"""Trees of messages are cyclic: they are collected, but not at every turn."""

import gc
import weakref
from collections.abc import Iterator

import pytest

from heliograph.flow.engine.compiled_flow import tune_garbage_collection
from heliograph.flow.formats import Catalogue


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)
    gc.unfreeze()


def test_trees_that_nobody_has_any_more_are_still_collected() -> None:
    tune_garbage_collection()
    part = Catalogue().part_of("XML", b"<a><b/></a>")
    part.first("a")
    seen = weakref.ref(part)
    del part
    gc.collect(0)
    assert seen() is None


def test_what_was_there_before_is_not_looked_at_again() -> None:
    tune_garbage_collection()
    assert gc.get_freeze_count() > 0
    assert gc.get_threshold()[1] > 10  # nor what a batch keeps alive
