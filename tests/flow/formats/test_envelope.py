"""Envelopes: messages outside of a flow."""

import pickle
from datetime import datetime

import pytest

from heliograph.flow.formats.envelope import Envelope


@pytest.mark.parametrize(
    ("created", "moment"),
    [
        (0.0, None),
        (86400.5, datetime(1970, 1, 2, 0, 0, 0, 500000)),
        (1e300, None),
        (float("nan"), None),
    ],
)
def test_the_moment_of_creation_is_none_if_it_is_no_time(created: float, moment: datetime | None) -> None:
    assert Envelope(b"", created=created).moment() == moment


def test_another_body_keeps_all_but_the_properties_of_the_application() -> None:
    old = Envelope(
        b"old", "MQSTR", 819, 273, b"m", b"c", "REPLIES", True, 7, 10, 1, "me", 5.0, 2, "t", "text/plain",
        {"p": 1}, b"g", 3, {"Report": 1}, b"place",
    )  # fmt: skip
    new = old.with_body(b"new", "")
    assert (new.body, new.format, new.properties) == (b"new", "", {})
    assert all(
        getattr(new, name) == getattr(old, name)
        for name in Envelope.__slots__
        if name not in {"body", "format", "properties"}
    )


def test_an_envelope_can_be_pickled() -> None:
    envelope = Envelope(b"x", properties={"a": 1})
    assert pickle.loads(pickle.dumps(envelope)) == envelope
