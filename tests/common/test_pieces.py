"""Bytes that arrive in pieces."""

import pytest

from heliograph.common.pieces import Pieces


@pytest.mark.parametrize("count", [0, 1, 1023, 1024, 5000])
def test_what_was_added_is_joined_in_order(count: int) -> None:
    pieces = Pieces()
    for number in range(count):
        pieces.add(b"%d," % number if number % 2 else memoryview(b"%d," % number))
    whole = b"".join(b"%d," % number for number in range(count))
    assert (pieces.join(), pieces.size) == (whole, len(whole))
