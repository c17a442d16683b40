"""Against a broker that drops, doubles, delays and swaps by a script, every fault is counted exactly."""

import pytest

from heliograph.lab.load import Address, Control, Group, Interval, LoadOutcome, Plan, load_run, run_load
from lab.scripted.message_broker import MessageBroker

SECOND = 1_000_000_000


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the script has dropped is not waited for very long."""
    monkeypatch.setattr(load_run, "SILENCE_SECONDS", 0.7)


def run(broker: MessageBroker, *groups: Group, seconds: float = 0.6, processes: int = 1) -> LoadOutcome:
    with broker:
        return run_load(Plan(groups, seconds, processes=processes), {"main": Address(broker.port)})


def faults(outcome: LoadOutcome, group: str) -> tuple[int, int, int]:
    totals = outcome.groups[group]
    return totals.lost, totals.duplicates, totals.reordered


def numbered(broker: MessageBroker, digit: int) -> int:
    """How many messages have had a number with this last digit."""
    return sum(len(range(digit, count, 10)) for count in broker.received.values())


def test_what_a_broker_drops_doubles_and_swaps_is_counted_message_by_message() -> None:
    """Of ten messages number 3 is dropped, 5 comes twice, and 7 comes after 8 and 9."""
    broker = MessageBroker(lambda _, number: {3: [], 5: [0, 0], 7: [2]}.get(number % 10, [0]))
    senders = Group("senders", "publish", 4, destination="t/{client}", rate=1600.0, qos=1)
    outcome = run(broker, senders, Group("receivers", "consume", 2, filters=("t/#",), qos=1), processes=2)
    sent = outcome.groups["senders"].sent
    assert sent == outcome.groups["senders"].acknowledged == sum(broker.received.values())
    assert sent + outcome.groups["senders"].unsent == pytest.approx(960, abs=4)
    # Who waits for number 9 until the end is lost, too.
    dropped, doubled, late = numbered(broker, 3), numbered(broker, 5), numbered(broker, 9)
    dropped += numbered(broker, 7) - late
    assert outcome.groups["receivers"].expected == 2 * sent
    assert faults(outcome, "receivers") == (2 * dropped, 2 * doubled, 2 * late)
    assert outcome.groups["receivers"].received == 2 * (sent - dropped + doubled)


def test_a_share_gets_every_message_once_and_doubles_are_found_across_processes() -> None:
    broker = MessageBroker(lambda _, number: {3: [], 5: [0, 0]}.get(number % 10, [0]))
    members = Group("members", "consume", 4, filters=("t/+",), shared="s", qos=1)
    senders = Group("senders", "publish", 3, destination="t/{client}", rate=600.0, qos=1)
    outcome = run(broker, members, senders, processes=2)
    assert numbered(broker, 5) > 10
    assert outcome.groups["members"].expected == outcome.groups["senders"].sent
    assert faults(outcome, "members") == (numbered(broker, 3), numbered(broker, 5), 0)


def test_measured_latencies_are_the_injected_ones() -> None:
    """The broker keeps messages for a moment, and turns back their clock by a minute.

    So they look as if they had been in flight for a time to which no scheduling of this machine adds a hundredth.
    """
    broker = MessageBroker(age=60 * SECOND, delay=0.1)
    outcome = run(broker, Group("echo", "both", 5, destination="t/{client}", rate=500.0))
    service, message = (outcome.groups["echo"].latencies[kind] for kind in ("service", "message"))
    assert service.count == message.count > 200
    assert message.min_ns > SECOND // 10
    assert service.min_ns > 60.1 * SECOND
    assert service.mean == pytest.approx(60.1 * SECOND, rel=0.01)
    for percent in (1, 50, 99):
        assert service.percentile(percent) == pytest.approx(60.1 * SECOND, rel=0.01)


def test_a_real_delay_is_measured_within_a_hundredth() -> None:
    outcome = run(MessageBroker(delay=1.5), Group("echo", "both", 5, destination="t/{client}", rate=200.0), seconds=2.2)
    assert faults(outcome, "echo") == (0, 0, 0)
    for kind in ("service", "message"):
        latencies = outcome.groups["echo"].latencies[kind]
        assert latencies.count > 50
        assert latencies.min_ns >= 1.5 * SECOND
        # What the machine adds when it is busy is a delay, too; a quarter of the messages is spared that.
        assert latencies.percentile(25) == pytest.approx(1.5 * SECOND, rel=0.01), kind


def test_the_rate_can_be_changed_and_the_load_stopped_while_it_runs() -> None:
    control, seen = Control(), list[Interval]()

    def watch(interval: Interval) -> None:
        seen.append(interval)
        if interval.second == 0:
            control.set_rate(1000.0)
        elif interval.second == 1:
            control.stop()

    senders = Group("senders", "publish", 10, destination="t", rate=100.0)
    with MessageBroker() as broker:
        plan = Plan((senders,), 60.0)
        outcome = run_load(plan, {"main": Address(broker.port)}, on_interval=watch, control=control)
    by_second = {one.second: one.sent for one in seen}
    assert by_second[0] == pytest.approx(100, abs=30)
    assert by_second[1] > 500
    assert outcome.seconds < 30


def test_connection_bursts_connect_and_drop_again_and_again() -> None:
    bursts = Group("bursts", "connect", 20, connect_rate=100.0, stay=0.05, client_id="b{client}")
    outcome = run(MessageBroker(), bursts, seconds=1.0)
    connects = outcome.groups["bursts"].latencies["connect"]
    assert connects.count == pytest.approx(100, abs=10)
    assert outcome.groups["bursts"].errors == 0


def test_a_client_that_loses_its_connection_comes_back_and_what_was_in_flight_is_lost() -> None:
    broker = MessageBroker(hang_up_at=50)
    senders = Group("senders", "publish", 3, destination="t/{client}", rate=300.0)
    outcome = run(broker, senders, Group("receivers", "consume", 1, filters=("t/+",)), seconds=1.0)
    totals = outcome.groups["senders"]
    assert totals.errors == 1
    assert "connection" in totals.first_error
    assert totals.latencies["connect"].count == 4
    assert totals.sent > 200
    assert faults(outcome, "receivers") == (totals.sent - broker.received.total(), 0, 0)


def test_a_requester_measures_round_trips_and_misses_answers() -> None:
    ask = Group("ask", "request", 3, destination="ask", reply="answer/{client}", rate=300.0)
    five = Group("ask5", "request", 2, protocol="mqtt5", destination="ask5", reply="answer5/{client}", window=4)
    answer = Group("answer", "respond", 1, filters=("ask",))
    answer5 = Group("answer5", "respond", 2, protocol="mqtt5", filters=("ask5",), shared="all")
    outcome = run(MessageBroker(), ask, five, answer, answer5)
    for asking, answering in (("ask", "answer"), ("ask5", "answer5")):
        totals = outcome.groups[asking]
        assert totals.sent > 20
        # Two who answer may overtake each other.
        assert (totals.received, *faults(outcome, asking)[:2]) == (totals.sent, 0, 0)
        assert totals.latencies["round_trip"].count > 20
        assert (outcome.groups[answering].received, outcome.groups[answering].lost) == (totals.sent, 0)
