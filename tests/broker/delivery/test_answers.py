"""Answers to clients: as large as the client allows, and not before what they tell of is safe."""

from types import SimpleNamespace

import pytest

from broker.clients import Scene
from broker.durable_clients import durable
from heliograph.broker.core.outlet import Outlet
from heliograph.broker.core.span import Published
from heliograph.broker.delivery.answers import fit
from heliograph.broker.storage.store import Store
from heliograph.mqtt import Disconnect, PubAck, PubRec, Reason, SubAck, encode

WORDY = PubAck(7, Reason.QUOTA_EXCEEDED, {"reason_string": "x" * 50, "user_property": [("k", "v")]})
SHORT = encode(PubAck(7, Reason.QUOTA_EXCEEDED), 5)


@pytest.mark.parametrize(
    ("most", "sent"),
    [
        (0, encode(WORDY, 5)),
        (len(encode(WORDY, 5)), encode(WORDY, 5)),
        (len(encode(WORDY, 5)) - 1, SHORT),
        (len(SHORT), SHORT),
        (len(SHORT) - 1, b""),
    ],
)
def test_what_only_explains_is_left_out_before_all_is(most, sent):
    assert fit(WORDY, 5, most) == sent


def test_what_the_client_has_to_know_is_never_left_out():
    packet = Disconnect(Reason.USE_ANOTHER_SERVER, {"server_reference": "other", "reason_string": "moved"})
    without = Disconnect(Reason.USE_ANOTHER_SERVER, {"server_reference": "other"})
    assert fit(packet, 5, len(encode(packet, 5)) - 1) == encode(without, 5)
    assert fit(SubAck(1, (Reason.GRANTED_QOS_0,) * 9), 5, 10) == b""


def publisher(scene, version=5, *, explain=True, session=None):
    """A client as far as answers go."""
    return SimpleNamespace(outlet=Outlet(), version=version, version5=version == 5, explain=explain, session=session)


def chunks(scene, outlet):
    scene.turn_ends()
    return b"".join(outlet.chunks)


@pytest.mark.parametrize(
    ("version", "qos", "published", "packets"),
    [
        (4, 1, Published(Reason.SUCCESS, 2), [PubAck(7), PubAck(9)]),
        (5, 1, Published(Reason.SUCCESS, 2), [PubAck(7), PubAck(9)]),
        (5, 2, Published(Reason.SUCCESS, 2), [PubRec(7), PubRec(9)]),
        (5, 1, Published(Reason.SUCCESS, 1), [PubAck(7), PubAck(9, Reason.QUOTA_EXCEEDED)]),
        (4, 1, Published(Reason.SUCCESS, 1), [PubAck(7), PubAck(9)]),
        (
            5,
            2,
            Published(Reason.NO_MATCHING_SUBSCRIBERS, 2),
            [PubRec(7, Reason.NO_MATCHING_SUBSCRIBERS), PubRec(9, Reason.NO_MATCHING_SUBSCRIBERS)],
        ),
    ],
)
def test_each_message_is_answered_as_its_client_can_be_told(version, qos, published, packets):
    scene = Scene()
    one = publisher(scene, version)
    scene.broker.answers.acknowledge(one, qos, [7, 9], published)
    assert chunks(scene, one.outlet) == b"".join([encode(packet, version) for packet in packets])


def test_what_is_stored_is_answered_when_it_is_safe_and_nothing_overtakes_it(scene):
    one = publisher(scene)
    with scene.held():
        scene.broker.answers.acknowledge(one, 1, [1], Published(Reason.SUCCESS, 1, stored=1))
        scene.broker.answers.acknowledge(one, 1, [2], Published(Reason.SUCCESS, 1))
        scene.broker.answers.answer(one.outlet, b"\xd0\x00", stored=False)
        assert one.outlet.chunks == []
    assert chunks(scene, one.outlet) == encode(PubAck(1), 5) + encode(PubAck(2), 5) + b"\xd0\x00"


def test_what_is_not_stored_is_answered_at_once(scene):
    one = publisher(scene)
    with scene.held():
        scene.broker.answers.acknowledge(one, 1, [1], Published(Reason.SUCCESS, 1))
        assert one.outlet.chunks == [encode(PubAck(1), 5)]


def test_an_identifier_of_a_durable_session_is_answered_when_it_is_safe(scene):
    session = durable(scene, "c").connection.session
    one = publisher(scene, session=session)
    with scene.held():
        scene.broker.answers.acknowledge(one, 2, [1], Published(Reason.NO_MATCHING_SUBSCRIBERS, 1))
        assert one.outlet.unsafe == 1
        scene.broker.answers.acknowledge(one, 1, [2], Published(Reason.QUOTA_EXCEEDED, 1, stored=1))
        assert one.outlet.unsafe == 2  # a failure is nothing that has to be safe, but it does not overtake
        assert one.outlet.chunks == []


@pytest.mark.parametrize("stored", [False, True])
def test_many_clients_are_answered_alike(scene, stored):
    outlets = [Outlet() for _ in range(3)]
    with scene.held():
        scene.broker.answers.answer_all(outlets, [b"a", b"b", b"c"], stored=stored)
        assert [bool(outlet.chunks) for outlet in outlets] == [not stored] * 3
    scene.turn_ends()
    assert [outlet.chunks for outlet in outlets] == [[b"a"], [b"b"], [b"c"]]


@pytest.mark.parametrize("explain", [False, True])
@pytest.mark.parametrize("most", [0, 10])
def test_trouble_with_the_disk_is_explained_to_who_wants_to_know(scene, monkeypatch, explain, most):
    monkeypatch.setattr(Store, "trouble", "no space left")
    monkeypatch.setattr(Store, "refusal", Reason.QUOTA_EXCEEDED)
    one = publisher(scene, explain=explain)
    one.outlet.max_packet = most
    scene.broker.answers.acknowledge(one, 1, [7], Published(Reason.QUOTA_EXCEEDED, 1))
    text = {"reason_string": "no space left"} if explain and not most else {}
    assert b"".join(one.outlet.chunks) == encode(PubAck(7, Reason.QUOTA_EXCEEDED, text), 5)
