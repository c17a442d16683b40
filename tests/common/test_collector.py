"""The garbage collector, while very many objects are made that stay."""

import gc

import pytest

from heliograph.common.collector import collector_paused


def test_it_goes_on_afterwards_even_if_something_fails() -> None:
    with pytest.raises(ValueError, match="no"), collector_paused():
        assert not gc.isenabled()
        raise ValueError("no")
    assert gc.isenabled()


def test_where_it_was_off_it_stays_off() -> None:
    with collector_paused():
        with collector_paused():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()
