"""What tests of a broker with a store say again and again."""

import pytest

DAY = 86_400


def durable(scene, client_id, version=5, *, clean=False, **properties):
    """A client whose session outlives its connection."""
    if version == 5:
        properties.setdefault("session_expiry_interval", DAY)
    return scene.client(client_id, version, clean=clean, **properties)


def subscriber(scene, client_id="s", topic_filter="a", qos=1, **options):
    """A client with a durable subscription."""
    client = durable(scene, client_id)
    assert client.subscribe(topic_filter, qos, **options) == qos
    return client


def kinds(client):
    return [type(packet) for packet in client.take()]


BOTH = pytest.mark.parametrize("crash", [True, False], ids=["crash", "stop"])


def subscription_fields(topic_filter="a", cursor=3, **changes):
    """A subscription as the log tells of it."""
    fields = {
        "filter": topic_filter,
        "qos": 1,
        "no_local": False,
        "retain_as_published": False,
        "extra": "",
        "cursor": cursor,
    }
    return {**fields, **changes}


def session_fields(number=9, client="c", **changes):
    """A session as the log tells of it, with one subscription."""
    fields = {
        "session": number,
        "client": client,
        "expiry": DAY,
        "away": None,
        "will": None,
        "will_due": None,
        "received": [],
        "next_id": 1,
        "sent": [],
        "released": [],
        "subscriptions": [subscription_fields()],
        "retired": [],
    }
    return {**fields, **changes}
