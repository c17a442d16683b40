"""Requests that flows answer."""

import http.client
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from heliograph.flow.inline.http_input import Requests
from running_flows import CHECK_PY, soon

ECHO = """
in: {type: HttpInput, path: /echo, timeout: 5}
check: {type: Python, file: check.py}
reply: {type: HttpReply, content_type: text/plain}
"""
WIRES = "in.out -> check\ncheck.out -> reply"
FILES = {"check.py": CHECK_PY}
SETTINGS = "http: {port: 0}"


def ask(port, method, path, body=b"", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.headers)
    finally:
        connection.close()


def test_a_request_is_answered_by_the_flow(flow):
    with flow(ECHO, WIRES, SETTINGS, files=FILES) as running:
        status, body, headers = ask(running.port, "POST", "/echo", b"hello")
    assert (status, body, headers["Content-Type"]) == (200, b"hello", "text/plain")


def test_a_connection_may_have_several_requests(flow):
    with flow(ECHO, WIRES, SETTINGS, files=FILES) as running:
        connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=20)
        for number in range(3):
            connection.request("POST", "/echo", str(number))
            assert connection.getresponse().read() == str(number).encode()
        connection.close()


@pytest.mark.parametrize(("method", "path", "status"), [("POST", "/nothing", 404), ("DELETE", "/echo", 405)])
def test_what_the_flow_does_not_take_is_refused(flow, method, path, status):
    with flow(ECHO, WIRES, SETTINGS, files=FILES) as running:
        assert ask(running.port, method, path)[0] == status


def test_a_flow_that_fails_answers_500(flow):
    with flow(ECHO, WIRES, SETTINGS, files=FILES) as running:
        status, body, _ = ask(running.port, "POST", "/echo", b"bad")
    assert status == 500
    assert b"this one is bad" in body


def test_a_flow_that_does_not_answer_in_time_is_504(flow, queue_fixture):
    nodes = "in: {type: HttpInput, path: /slow/*, timeout: 0.2}\nout: {type: QueueOutput, queue: OUT}"
    with flow(nodes, "in.out -> out", SETTINGS) as running:
        assert ask(running.port, "POST", "/slow/request", b"x")[0] == 504
        assert queue_fixture.bodies("OUT") == ["x"]


def test_bytes_that_are_no_request_are_answered_with_400(flow):
    with (
        flow(ECHO, WIRES, SETTINGS, files=FILES) as running,
        socket.create_connection(("127.0.0.1", running.port), 20) as raw,
    ):
        raw.sendall(b"\x00 nonsense\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 400")


def test_a_port_that_is_taken_is_told(flow):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with flow(ECHO, WIRES, f"http: {{port: {port}}}", files=FILES, check=False) as running:
            assert f"cannot listen on 127.0.0.1:{port}" in str(running.problem)


def test_a_body_that_is_too_large_is_refused_before_it_is_read(flow):
    with (
        flow(ECHO, WIRES, SETTINGS, files=FILES) as running,
        socket.create_connection(("127.0.0.1", running.port), 20) as raw,
    ):
        raw.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 413")


def test_the_refusal_is_read_by_a_client_that_sends_its_body_first(flow):
    with (
        flow(ECHO, WIRES, SETTINGS, files=FILES) as running,
        socket.create_connection(("127.0.0.1", running.port), 20) as raw,
    ):
        raw.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n")
        for _ in range(24):  # megabytes, more than fits into buffers on the way
            raw.sendall(bytes(1 << 20))
        assert raw.recv(100).startswith(b"HTTP/1.1 413")


def test_a_client_that_does_not_close_after_its_last_answer_does_not_hold_up_the_end(flow, monkeypatch):
    monkeypatch.setattr("heliograph.flow.inline.http_server._LINGER", 1000.0)
    with flow(ECHO, WIRES, SETTINGS, files=FILES) as running:
        raw = socket.create_connection(("127.0.0.1", running.port), 20)
        raw.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n")
        while raw.recv(100):
            pass
    raw.close()


def test_a_body_that_does_not_say_how_large_it_is_has_the_same_limit(flow, monkeypatch):
    monkeypatch.setattr("heliograph.flow.inline.http_server.LARGEST_BODY", 10)
    with (
        flow(ECHO, WIRES, SETTINGS, files=FILES) as running,
        socket.create_connection(("127.0.0.1", running.port), 20) as raw,
    ):
        raw.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nb\r\n12345678901\r\n")
        assert raw.recv(100).startswith(b"HTTP/1.1 413")


def test_a_request_that_does_not_come_to_its_end_is_given_up(flow, monkeypatch):
    monkeypatch.setattr("heliograph.flow.inline.http_server._LONGEST_READ", 0.1)
    with (
        flow(ECHO, WIRES, SETTINGS, files=FILES) as running,
        socket.create_connection(("127.0.0.1", running.port), 20) as raw,
    ):
        raw.sendall(b"POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab")
        assert raw.recv(100).startswith(b"HTTP/1.1 408")


def test_requests_at_the_same_time_get_their_own_answers(flow):
    with (
        flow(ECHO, WIRES, SETTINGS + "\nadditional_instances: 2", files=FILES) as running,
        ThreadPoolExecutor(10) as pool,
    ):
        bodies = [str(number).encode() for number in range(50)]
        answers = pool.map(lambda body: ask(running.port, "POST", "/echo", body), bodies)
        assert [answer[1] for answer in answers] == bodies


def test_what_was_asked_before_a_flow_stops_is_answered(flow, monkeypatch):
    asked_for, handle = [], Requests.handle
    monkeypatch.setattr(Requests, "handle", lambda self, request: asked_for.append(request) or handle(self, request))
    slow = {"check.py": "import time\ndef process(message):\n    time.sleep(0.2)\n    return message\n"}
    with ThreadPoolExecutor(4) as pool, flow(ECHO, WIRES, SETTINGS, files=slow) as running:
        asked = [pool.submit(ask, running.port, "POST", "/echo", b"x") for _ in range(4)]
        soon(lambda: len(asked_for) == 4)
        running.stop.set()
        assert [answer.result()[:2] for answer in asked] == [(200, b"x")] * 4
