"""From a publisher to an alert: MQTT, a stream, a flow with a filter on Spark, a topic, MQTT.

The loop is open: messages are due at fixed times, and the latency of an alert counts from the time when its message was
due. So a publisher that is late does not improve any figure.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from typing import Any

from heliograph.lab.errors import MeasurementFailed
from heliograph.lab.flows.flow_cases import flow_text, write_folder
from heliograph.lab.load.client_loop import ClientLoop, give_up
from heliograph.lab.load.mqtt.client import MqttClientGroup
from heliograph.lab.load.mqtt.connection import MqttConnection
from heliograph.lab.load.plan import Address, Group, Plan
from heliograph.lab.spark.site import SparkSite
from heliograph.lab.spark.spark_rows import SparkEffort, SparkRow, SparkRun, run_of
from heliograph.mqtt import Packet, PubAck, Publish, encode

RATE = 1000
"""Messages per second."""
EVERY = 10
"""One message of so many is an alert."""
MEDIAN, MOST_MEDIAN = "50P ms", 300.0
TOPIC, ALERTS = "telemetry", "alerts/hot"
DEVICES = 100
TICK = 0.002
_VERSION = 4  # MQTT 3.1.1
_PATIENCE = 120.0
"""Seconds: the first batch of a query takes a while, and all processes may share two cores with others."""
FLOW = {
    "flow.yaml": flow_text(
        {
            "in": 'TopicInput, topic: "telemetry/#", domain: JSON',
            "hot": "Filter, esql: hot.esql",
            "out": "QueueOutput, queue: UNUSED",
        },
        "in.out -> hot\nhot.true -> out",
        name="alerts",
    ),
    "hot.esql": "RETURN Root.JSON.Data.temperature > 30;\n",
}


def reading(number: int, due: float) -> bytes:
    """What a device publishes: every tenth is hot. `due` is when it was to be sent, on the performance counter."""
    temperature = 35 if number % EVERY == 0 else 20
    values = {"device": number % DEVICES, "number": number, "due": round(due * 1e6), "temperature": temperature}
    return json.dumps(values).encode()


class Devices(MqttConnection):
    """The publisher: messages at QoS 1, whatever becomes of them."""

    __slots__ = ("_due", "acknowledged", "sent")

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self.sent = 0
        self.acknowledged = 0
        self._due = 0.0

    def begin(self, now: float) -> None:
        """From now on messages are due at the rate."""
        self._due = now

    def publish(self, now: float) -> None:
        """Send what is due by now."""
        packets = []
        while self._due <= now:
            topic = f"{TOPIC}/{self.sent % DEVICES:03}"
            packet = Publish(topic, reading(self.sent, self._due), 1, packet_id=self.sent % 60_000 + 1)
            packets.append(encode(packet, _VERSION))
            self.sent += 1
            self._due += 1 / RATE
        if packets:
            self.link.write(b"".join(packets))

    def take_other(self, first: int, packet: Packet, now: int) -> None:
        """Count acknowledgements."""
        self.acknowledged += isinstance(packet, PubAck)


class Alarm(MqttConnection):
    """The subscriber: notes how long alerts took."""

    __slots__ = ("duplicates", "took")

    def __init__(self, *about: Any) -> None:
        super().__init__(*about)
        self.took: dict[int, tuple[float, float]] = {}
        """By number: when it was due, and seconds until it was here."""
        self.duplicates = 0

    def take_other(self, first: int, packet: Packet, now: int) -> None:
        """An alert has arrived."""
        if isinstance(packet, Publish):
            self._take(json.loads(packet.payload), time.perf_counter())

    def _take(self, alert: Mapping[str, Any], now: float) -> None:
        number, due = int(alert["number"]), int(alert["due"]) / 1e6
        self.duplicates += number in self.took
        self.took[number] = (due, now - due)


def percentiles(took: Sequence[float]) -> dict[str, float]:
    """Milliseconds."""
    ordered = sorted(took)
    if not ordered:
        return {}
    return {
        MEDIAN: ordered[len(ordered) // 2] * 1e3,
        "99P ms": ordered[len(ordered) * 99 // 100] * 1e3,
        "max ms": ordered[-1] * 1e3,
    }


def steps_of(batches: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The median of each step of the later half of all batches, in milliseconds; and of their rows."""
    steady = batches[len(batches) // 2 :]
    names = {name for batch in steady for name in batch["steps"]}
    steps = {name: median(batch["steps"].get(name, 0) for batch in steady) for name in sorted(names)}
    return {"batches": len(batches), "rows": median(batch["rows"] for batch in steady), **steps} if steady else {}


def alerts_due(messages: int) -> int:
    """How many alerts so many messages make."""
    return -(-messages // EVERY)


def measure(site: SparkSite, effort: SparkEffort) -> Iterator[SparkRow]:
    """Percentiles over what was due after the warming up; in the end each alert has come once."""
    folder = write_folder(site.folder / "alerts", FLOW)
    order = {
        "folder": str(folder),
        "source": {"server": site.pages, "stream": TOPIC, "startingOffsets": "earliest"},
        "routes": [f"out=topic:{ALERTS}"],
        "checkpoint": str(site.folder / "alerts-checkpoint"),
    }
    with _clients(site.mqtt) as (loop, devices, alarm):
        site.worker.ask("start", order)
        try:
            since, run = _publish(site, loop, devices, alarm, effort)
        finally:
            batches = site.worker.ask("stop")["batches"]
    _check(devices, alarm)
    figures = percentiles([seconds for due, seconds in alarm.took.values() if due >= since])
    name = f"publish -> filter -> alert at {RATE}/s"
    yield SparkRow(
        name, len(reading(0, since)), run, figures=figures, steps=steps_of(batches), most={MEDIAN: MOST_MEDIAN}
    )


@contextmanager
def _clients(address: Address) -> Iterator[tuple[ClientLoop, Devices, Alarm]]:
    publishing = Group("devices", "publish", 1, destination=TOPIC)
    subscribing = Group("alarm", "consume", 1, filters=(ALERTS,))
    plan = Plan((publishing, subscribing), 1.0)
    loop = ClientLoop(give_up)
    try:
        groups = [
            MqttClientGroup(plan, index, 0, address, loop.poller, kind) for index, kind in enumerate((Devices, Alarm))
        ]
        loop.connect(*groups)
        devices, alarm = (group.load_clients[0] for group in groups)
        assert isinstance(devices, Devices)
        assert isinstance(alarm, Alarm)
        yield loop, devices, alarm
    finally:
        loop.close()


def _publish(
    site: SparkSite, loop: ClientLoop, devices: Devices, alarm: Alarm, effort: SparkEffort
) -> tuple[float, SparkRun]:
    """Publish until enough has been measured and all alerts are here; from when on it was measured, and the cost."""
    devices.begin(time.perf_counter() - DEVICES / RATE)
    devices.publish(time.perf_counter())
    _await(loop, alarm, devices.sent)  # the first batch of a query takes seconds: few messages should wait for it
    devices.begin(time.perf_counter())
    _publish_until(time.perf_counter() + effort.warm_seconds, loop, devices)
    since, before, sent = time.perf_counter(), site.counters(), devices.sent
    _publish_until(since + effort.alert_seconds, loop, devices)
    spent = site.counters().since(before)
    run = run_of(devices.sent - sent, spent.seconds, spent)
    _await(loop, alarm, devices.sent)
    return since, run


def _publish_until(end: float, loop: ClientLoop, devices: Devices) -> None:
    while (now := time.perf_counter()) < end:
        devices.publish(now)
        loop.turn(TICK)


def _await(loop: ClientLoop, alarm: Alarm, messages: int) -> None:
    """Wait until all alerts of so many messages are here, if they come at all."""
    give_up = time.perf_counter() + _PATIENCE
    while len(alarm.took) < alerts_due(messages) and time.perf_counter() < give_up:
        loop.turn(0.1)


def _check(devices: Devices, alarm: Alarm) -> None:
    if devices.acknowledged != devices.sent:
        raise MeasurementFailed(f"{devices.sent} messages were published, {devices.acknowledged} acknowledged")
    due, came = alerts_due(devices.sent), len(alarm.took)
    if came != due or alarm.duplicates:
        raise MeasurementFailed(f"{due} alerts were due, {came} came, {alarm.duplicates} of them again")
