"""A disk without room: nothing is acknowledged that is not safe, clients are told why, and all goes on by itself."""

import json
import urllib.error

import pytest

from configurations import PLAIN
from faults.small_disks import SmallDisk, SmallFileSystem
from heliograph.mqtt import Publish, Reason
from plain_client import PlainClient
from running import RunningServer, Serve

LASTING = {"session_expiry_interval": 3600}


def health(server: RunningServer) -> tuple[int, str]:
    try:
        return 200, server.page("/healthz")
    except urllib.error.HTTPError as answer:
        return answer.code, json.loads(answer.read())["error"]


def test_without_room_nothing_is_acknowledged_until_there_is_room_again(serve: Serve, disk: SmallDisk) -> None:
    server = serve(f'{PLAIN}\n[storage]\ndirectory = "{disk.folder}"\n')
    with PlainClient(server.port).connected("away", clean_start=False, properties=LASTING) as away:
        away.subscribe("kept", qos=1)
    with (
        PlainClient(server.port).connected() as speaker,
        PlainClient(server.port, version=4).connected() as older,
        PlainClient(server.port).connected() as listener,
    ):
        assert speaker.publish("kept", b"before").reason == Reason.SUCCESS
        listener.subscribe("passing", qos=1)
        disk.fill(server)
        # Too late to refuse this one: it waits for its acknowledgement.
        older.send(Publish("kept", bytes(20_000) + b"waits", qos=1, packet_id=7))
        server.log.wait_for("messages cannot be stored")
        refused = speaker.publish("kept", b"refused")
        assert refused.reason == Reason.QUOTA_EXCEEDED
        assert refused.properties["reason_string"]
        assert health(server) == (503, f"messages cannot be stored: {refused.properties['reason_string']}")
        with PlainClient(server.port) as durable:
            answer = durable.connect("new", clean_start=False, properties=LASTING)
            assert answer.reason == Reason.SERVER_UNAVAILABLE
        # What nobody stores goes on as ever.
        assert speaker.publish("passing", b"by").reason == Reason.SUCCESS
        assert listener.receive().payload == b"by"
        older.socket.settimeout(0.3)
        with pytest.raises(TimeoutError):
            older.receive()
        older.socket.settimeout(20)
        disk.make_room(server)
        assert older.receive().packet_id == 7
        server.log.wait_for("messages can be stored again")
        assert health(server)[0] == 200
        assert speaker.publish("kept", b"after").reason == Reason.SUCCESS
    server.kill()
    again = serve(f'{PLAIN}\n[storage]\ndirectory = "{disk.folder}"\n')
    with PlainClient(again.port).connected("away", clean_start=False, properties=LASTING) as away:
        arrived = [away.receive() for _ in range(3)]
        assert [one.payload[-6:] for one in arrived] == [b"before", b"\0waits", b"after"]


def test_a_server_without_room_can_be_stopped(serve: Serve, disk: SmallDisk) -> None:
    server = serve(f'{PLAIN}\n[storage]\ndirectory = "{disk.folder}"\n')
    with PlainClient(server.port).connected("away", clean_start=False, properties=LASTING) as away:
        away.subscribe("kept", qos=1)
        disk.fill(server)
        away.send(Publish("kept", bytes(20_000), qos=1, packet_id=7))
        server.log.wait_for("messages cannot be stored")
        server.stop()
        if isinstance(disk, SmallFileSystem):  # the other one has gone with the process
            disk.make_room(server)
    serve(f'{PLAIN}\n[storage]\ndirectory = "{disk.folder}"\n')
