"""A task publishes its rows once, however often and by whomever it is tried: a real server, without Spark."""

import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from heliograph.errors import Problem
from heliograph.pipeline.sink.channel import drop_channel
from heliograph.pipeline.sink.options import SinkOptions
from heliograph.pipeline.sink.part import Part
from heliograph.pipeline.sink.publishing import Publishing
from heliograph.pipeline.sink.units import MOST_MESSAGES
from heliograph.pipeline.sink.writing import BatchWriter
from heliograph.server.access.passwords import PasswordFile
from pipeline.sink.queue_server import CONFIG, QueueAdmin, config_at
from running import PATIENCE, RunningServer, Serve

COLUMNS = ("payload",)
Batches = Iterator[pa.RecordBatch]


def rows(count: int, size: int = 1000, first: int = 0) -> Batches:
    """Batches of rows whose payloads are numbers."""
    for begin in range(first, count, size):
        yield pa.RecordBatch.from_pydict({"payload": [str(each) for each in range(begin, min(begin + size, count))]})


def publish(options: SinkOptions, batches: Batches, name: str, batch: int = 0) -> int:
    return Publishing(Part(name, batch, 0), COLUMNS, options, lambda: None).publish(batches)


def numbers(count: int) -> list[str]:
    return [str(each) for each in range(count)]


@pytest.fixture
def options(server: RunningServer, admin: QueueAdmin, request: pytest.FixtureRequest) -> Iterator[SinkOptions]:
    """Everything goes to a queue that has the name of the test."""
    options = SinkOptions(server=server.url("amqp"), queue=admin.queue(f"Q{abs(hash(request.node.name))}"))
    yield options
    drop_channel(options)


class Interrupted(Exception):
    """Something before the sink has failed."""


def interrupted(batches: Batches, after: int) -> Batches:
    for number, batch in enumerate(batches):
        if number == after:
            raise Interrupted
        yield batch


def test_all_rows_are_published_in_order(options: SinkOptions, admin: QueueAdmin) -> None:
    assert publish(options, rows(2500), "order") == 2500
    assert admin.bodies(options.queue) == numbers(2500)


def test_a_task_that_is_repeated_publishes_nothing(options: SinkOptions, admin: QueueAdmin) -> None:
    publish(options, rows(100), "repeat", batch=4)
    publish(options, rows(100), "repeat", batch=4)
    assert admin.bodies(options.queue) == numbers(100)


def test_the_next_batch_is_published(options: SinkOptions, admin: QueueAdmin) -> None:
    publish(options, rows(3), "next", batch=0)
    publish(options, rows(2), "next", batch=1)
    assert admin.bodies(options.queue) == ["0", "1", "2", "0", "1"]


def test_a_batch_may_need_several_units_of_work(options: SinkOptions, admin: QueueAdmin) -> None:
    publish(options, rows(MOST_MESSAGES + 1500), "units")
    assert admin.bodies(options.queue) == numbers(MOST_MESSAGES + 1500)


def test_a_task_that_fails_within_its_first_unit_has_published_nothing(options: SinkOptions, admin: QueueAdmin) -> None:
    with pytest.raises(Interrupted):
        publish(options, interrupted(rows(5000), after=3), "fails")
    assert admin.bodies(options.queue) == []


def test_a_task_goes_on_where_the_last_attempt_ended(options: SinkOptions, admin: QueueAdmin) -> None:
    with pytest.raises(Interrupted):
        publish(options, interrupted(rows(12_000), after=11), "goes-on")
    publish(options, rows(12_000), "goes-on")
    assert admin.bodies(options.queue) == numbers(12_000)


def test_a_task_may_be_cut_short_without_being_told(options: SinkOptions, admin: QueueAdmin) -> None:
    """Arrow takes a socket that Spark has closed for the end of the rows."""
    publish(options, rows(700), "cut-short")
    publish(options, rows(1500, size=400), "cut-short")
    assert admin.bodies(options.queue) == numbers(1500)


def test_rows_that_ended_before_their_time_are_undone(options: SinkOptions, admin: QueueAdmin) -> None:
    def say_so() -> None:
        raise Interrupted

    with pytest.raises(Interrupted):
        Publishing(Part("undone", 0, 0), COLUMNS, options, say_so).publish(rows(100))
    assert admin.bodies(options.queue) == []


def test_two_attempts_at_one_time_publish_once(server: RunningServer, options: SinkOptions, admin: QueueAdmin) -> None:
    """Spark starts a second attempt at a slow task; the first goes on when the second has begun."""
    slow_has_begun, second_has_begun = threading.Event(), threading.Event()

    def slow() -> Batches:
        for number, batch in enumerate(rows(3000)):
            if number == 1:
                slow_has_begun.set()
                assert second_has_begun.wait(60)
            yield batch

    def second() -> Batches:
        second_has_begun.set()
        yield from rows(3000)

    other = SinkOptions(server=options.server + "/?timeout=20", queue=options.queue)  # a worker process of its own
    attempts = [
        threading.Thread(target=publish, args=(options, slow(), "two")),
        threading.Thread(target=publish, args=(other, second(), "two")),
    ]
    attempts[0].start()
    assert slow_has_begun.wait(60)
    attempts[1].start()
    for attempt in attempts:
        attempt.join(60)
    drop_channel(other)
    assert admin.bodies(options.queue) == numbers(3000)


def test_no_rows_need_no_server() -> None:
    assert publish(SinkOptions(server="amqp://127.0.0.1:1", queue="q"), iter(()), "nothing") == 0


def test_an_older_checkpoint_is_not_taken_for_a_repeated_batch(options: SinkOptions, admin: QueueAdmin) -> None:
    publish(options, rows(1), "older", batch=8)
    with pytest.raises(Problem, match="older was to publish batch 3, but the server already has batch 8 of it"):
        publish(options, rows(1), "older", batch=3)


def test_a_batch_with_fewer_rows_than_before_is_another_batch(options: SinkOptions, admin: QueueAdmin) -> None:
    publish(options, rows(10), "fewer")
    with pytest.raises(Problem, match="had at least 10 rows when it was published before, and has 4 now"):
        publish(options, rows(4), "fewer")


def test_a_queue_that_is_not_there_is_named_with_the_row(server: RunningServer) -> None:
    options = SinkOptions(server=server.url("amqp"), queue="nowhere")
    with pytest.raises(Problem, match=r"row 0 of partition 0 in batch 0 was refused by the server: .*nowhere"):
        publish(options, rows(5), "nowhere")


def test_a_full_queue_takes_nothing_of_the_unit(server: RunningServer, admin: QueueAdmin) -> None:
    options = SinkOptions(server=server.url("amqp"), queue=admin.queue("small", max_depth=5))
    with pytest.raises(Problem, match=r"row 5 of partition 0 in batch 0 was refused by the server: .*full"):
        publish(options, rows(8), "small")
    assert admin.bodies("small") == []


def test_a_topic_with_a_wildcard_is_named_with_the_row(server: RunningServer) -> None:
    options = SinkOptions(server=server.url("amqp"), topic="plant/+/alarm")
    with pytest.raises(Problem, match="row 0 of partition 0 in batch 0 was refused by the server"):
        publish(options, rows(5), "wildcard")


def test_a_server_that_is_not_there_is_named() -> None:
    with pytest.raises(Problem, match=r"127.0.0.1:1\b.*cannot connect"):
        publish(SinkOptions(server="amqp://127.0.0.1:1", queue="q"), rows(1), "unreachable")


def test_a_task_outlives_a_server_that_is_killed(serve: Serve) -> None:
    """The server dies when it has the first unit and a part of the second, and comes back."""
    first = serve(CONFIG + '[storage]\ndirectory = "data"\n')
    address = first.url("amqp")
    config = config_at(first.port_of("amqp"))
    options = SinkOptions(server=address, queue="q")
    with QueueAdmin(address) as admin:
        admin.queue("q")
    back: list[RunningServer] = []

    def batches() -> Batches:
        for number, batch in enumerate(rows(15_000)):
            if number == 12:
                first.kill()
                back.append(serve(config + '[storage]\ndirectory = "data"\n'))
            yield batch

    publish(options, batches(), "outlives")
    drop_channel(options)
    with QueueAdmin(address) as admin:
        assert admin.bodies("q") == numbers(15_000)


def test_a_user_is_let_in_by_the_right_password_only(serve: Serve, tmp_path: Path) -> None:
    users = PasswordFile(tmp_path / "users")
    users.set_password("spark", b"right")
    users.save()
    access = '[access]\npassword_file = "users"\n[[queue]]\nname = "q"\n'
    server = serve(CONFIG.replace('protocol = "amqp"', 'protocol = "amqp"\nanonymous = false') + access)
    wrong = SinkOptions(server=server.url("amqp"), user="spark", password="wrong", queue="q")
    with pytest.raises(Problem, match="wrong user name or password"):
        publish(wrong, rows(1), "secret")
    right = SinkOptions(server=server.url("amqp"), user="spark", password="right", queue="q")
    assert publish(right, rows(1), "secret") == 1
    drop_channel(right)


def test_a_task_waits_for_a_server_whose_pages_say_where_it_listens(serve: Serve) -> None:
    """Nobody answers for a while: neither AMQP nor the pages."""
    storage = '[storage]\ndirectory = "data"\n'
    first = serve(CONFIG + storage)
    config = config_at(first.port_of("amqp")).replace("[http]\nport = 0", f"[http]\nport = {first.port_of('http')}")
    address = first.url("amqp")
    options = SinkOptions(server=first.url("http"), queue="q")
    with QueueAdmin(address) as admin:
        admin.queue("q")
    later = threading.Timer(1.0, lambda: serve(config + storage))

    def batches() -> Batches:
        for number, batch in enumerate(rows(3000)):
            if number == 2:
                first.kill()
                later.start()
            yield batch

    publish(options, batches(), "waits")
    later.join()
    drop_channel(options)
    with QueueAdmin(address) as admin:
        assert admin.bodies("q") == numbers(3000)


def test_a_job_that_failed_leaves_no_tokens_whoever_still_holds_one(
    options: SinkOptions, admin: QueueAdmin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its second task has failed on its way, and the first does not know yet that the job has."""
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=7))
    writer = BatchWriter(COLUMNS, options)
    monkeypatch.undo()
    job = uuid.UUID(int=7).hex
    elsewhere = replace(options, job="elsewhere")  # so that it has a connection of its own
    begun, failed = threading.Event(), threading.Event()

    def slowly() -> Batches:
        yield from rows(10)
        begun.set()
        failed.wait(PATIENCE)
        raise Interrupted

    def first_task() -> None:
        with pytest.raises(Interrupted):
            Publishing(Part(job, 0, 0), COLUMNS, elsewhere, lambda: None).publish(slowly())

    task = threading.Thread(target=first_task)
    task.start()
    assert begun.wait(PATIENCE)
    with pytest.raises(Interrupted):
        Publishing(Part(job, 0, 1), COLUMNS, options, lambda: None).publish(interrupted(rows(20, 10), 1))
    assert admin.queues(f"SPARK.{job}.*") == [f"SPARK.{job}.0", f"SPARK.{job}.1"]
    threading.Timer(0.3, failed.set).start()
    writer.abort([None, None])
    task.join(PATIENCE)
    assert admin.queues(f"SPARK.{job}.*") == []


def test_a_job_that_failed_because_there_is_no_server_ends_well() -> None:
    """Why it failed is for others to tell."""
    BatchWriter(COLUMNS, SinkOptions(server="amqp://127.0.0.1:1")).abort([None])
