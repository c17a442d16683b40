"""What a message costs in the client session alone: `python -m mqtt.micro_bench` in `tests`.

Runs of 100 messages of about 100 bytes, with all acknowledgements, without a network; a table of µs a message.
"""

import time

from heliograph.mqtt import ConnAck, Connect, Publish, encode
from heliograph.mqtt.client import ClientSession, Messages
from heliograph.mqtt.runs import PUBACKS, PUBCOMPS, PUBRECS, PUBRELS, ack_run

RUN, ROUNDS = 100, 600


def connected(*, manual: bool = False) -> ClientSession:
    session = ClientSession(manual=manual)
    session.open(Connect("bench", 5), 0.0)
    session.receive(encode(ConnAck(), 5), 0.0)
    session.take_output()
    return session


def publishing(qos: int, payloads: list[bytes]) -> float:
    """Seconds for one message: published, written, acknowledged."""
    session, next_id, spent = connected(), 1, 0.0
    for _ in range(ROUNDS):
        began = time.process_time()
        taken = session.publish("plant/line/1", payloads, qos)
        session.take_output()
        spent += time.process_time() - began
        assert len(taken) == RUN
        for table in ((), (PUBACKS,), (PUBRECS, PUBCOMPS))[qos]:
            acks = ack_run(table, next_id, RUN)
            began = time.process_time()
            session.receive(acks, 0.0)
            session.take_output()
            spent += time.process_time() - began
        next_id += RUN
    assert not session.in_flight
    return spent / RUN / ROUNDS


def receiving(qos: int, payloads: list[bytes], topics: int = 1) -> float:
    """Seconds for one message: received, handed over, acknowledged by hand."""
    session, next_id, spent = connected(manual=True), 1, 0.0
    for _ in range(ROUNDS):
        packets = [
            Publish(f"plant/line/{at % topics}", payload, qos, packet_id=next_id + at if qos else 0)
            for at, payload in enumerate(payloads)
        ]
        for data in (b"".join(encode(packet, 5) for packet in packets), ack_run(PUBRELS, next_id, RUN)):
            began = time.process_time()
            count = 0
            for event in session.receive(data, 0.0):
                count += len(event.payloads) if isinstance(event, Messages) else 0
                session.acknowledge(event)
            session.take_output()
            spent += time.process_time() - began
            if qos < 2:
                break
        next_id += RUN
    return spent / RUN / ROUNDS


def main() -> None:
    alike, mixed = [b"x" * 100] * RUN, [b"x" * (60 + 3 * (at % 30)) for at in range(RUN)]
    print(f"{'µs a message':40}{'QoS 0':>8}{'QoS 1':>8}{'QoS 2':>8}")
    for name, measured in {
        "publish, one length": lambda qos: publishing(qos, alike),
        "publish, different lengths": lambda qos: publishing(qos, mixed),
        "receive, one length": lambda qos: receiving(qos, alike),
        "receive, different lengths": lambda qos: receiving(qos, mixed),
        "receive, different lengths and topics": lambda qos: receiving(qos, mixed, topics=10),
    }.items():
        print(f"{name:40}" + "".join(f"{1e6 * min(measured(qos) for _ in range(3)):8.2f}" for qos in range(3)))


if __name__ == "__main__":
    main()
