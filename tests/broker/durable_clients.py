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
