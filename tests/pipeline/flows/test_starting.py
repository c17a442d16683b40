"""A flow as a streaming query: from a stream of a real server to queues, topics, files and tables, each output once."""

import json
import sqlite3
import threading
from collections import Counter
from pathlib import Path

import pytest

from configurations import BOTH
from flow_process import write_flow
from heliograph.client import Message, Topic, connect
from heliograph.errors import Problem
from heliograph.pipeline.flows import Routes, compare, start_flow
from heliograph.pipeline.flows.starting import STATE, checkpoint_folder
from pipeline.flows.stream_rows import NOON
from running import servers
from running_flows import Running, soon

CONFIG = f"""{BOTH}
[[stream]]
name = "orders"
filter = "orders/#"
partitions = 2
[[stream]]
name = "readings"
filter = "readings/#"
partitions = 2
[[queue]]
name = "BOUND"
topics = ["orders/#"]
"""
QUEUES = ("BIG", "SMALL", "FAILED", "SYSTEM.DEAD.LETTER.QUEUE")
NODES = """
in: {type: QueueInput, queue: BOUND, domain: XMLNSC}
check: {type: Filter, esql: check.esql, module: IsBig}
big: {type: QueueOutput, queue: BIG}
small: {type: QueueOutput, queue: SMALL}
"""
WIRES = """
in.out -> check
check.true -> big
check.false -> small
"""
CHECK = """
CREATE FILTER MODULE IsBig
  CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN RETURN CAST(Body.Order.Amount AS INTEGER) >= {limit}; END;
END MODULE;
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    queues = "".join(f'[[queue]]\nname = "{name}"\n' for name in QUEUES)
    with servers(tmp_path_factory.mktemp("server")) as serve:
        yield serve(CONFIG + queues)


@pytest.fixture(scope="module")
def url(server):
    return f"amqp://127.0.0.1:{server.port_of('amqp')}"


@pytest.fixture(scope="module")
def published(url):
    """Messages in the stream: amounts from 0 to 199, of which every tenth is no XML; two topics, some are texts."""
    bodies = []
    with connect(url) as connection, connection.session() as session:
        for number in range(200):
            body = f"<Order><Amount>{number}</Amount></Order>" if number % 10 else f"bad {number}"
            bodies.append(body)
            message = Message(body if number % 3 else body.encode(), properties={"number": number})
            session.producer(Topic(f"orders/{number % 2}")).send(message)
    return bodies


@pytest.fixture
def source(server, published):
    return {
        "server": f"http://127.0.0.1:{server.port_of('http')}",
        "stream": "orders",
        "startingOffsets": "earliest",
    }


@pytest.fixture
def flow(tmp_path):
    def write(name="orders", limit=100, nodes=NODES, wires=WIRES, settings=""):
        return write_flow(tmp_path / name, nodes, wires, settings, {"check.esql": CHECK.format(limit=limit)})

    return write


@pytest.fixture
def taken(url):
    """Takes all messages from a queue: kind of body, body, properties."""

    def take(queue):
        with connect(url) as connection, connection.session() as session:
            consumer = session.consumer(queue)
            found = []
            while (message := consumer.receive(0.5)) is not None:
                found.append((type(message.body), message.body, message.properties.get("number")))
            return Counter(found)

    return take


@pytest.fixture
def run(spark, source, tmp_path):
    def start(folder, *routes, checkpoint=str(tmp_path / "checkpoint"), **more):
        """What is there goes through the flow."""
        query = start_flow(
            spark,
            folder,
            source_options=source,
            routes=Routes.parse(routes),
            checkpoint=checkpoint,
            available_now=True,
            **more,
        )
        query.awaitTermination()

    return start


@pytest.fixture
def empty_queues(taken):
    for queue in QUEUES:
        taken(queue)


def bodies(counter):
    return sorted(body if isinstance(body, str) else body.decode() for _, body, _ in counter.elements())


def test_the_same_comes_out_as_from_the_inline_runner(flow, run, taken, url, published, tmp_path, monkeypatch):
    monkeypatch.setattr("heliograph.flow.inline.queue_input.WAIT", 0.02)
    running = Running()
    thread = threading.Thread(target=running.run, args=(flow(), tmp_path / "state", url), daemon=True)
    thread.start()
    inline = {queue: Counter() for queue in ("BIG", "SMALL", "SYSTEM.DEAD.LETTER.QUEUE")}

    def all_came():
        for queue, found in inline.items():
            found.update(taken(queue))
        return sum(map(Counter.total, inline.values())) == len(published)

    soon(all_came)
    running.stop.set()
    thread.join()
    run(flow())
    spark = {queue: taken(queue) for queue in inline}
    # A stream keeps properties as MQTT does, as text.
    assert spark == {
        queue: Counter((kind, body, str(number)) for kind, body, number in found.elements())
        for queue, found in inline.items()
    }


def test_every_output_goes_where_its_route_says_and_once_even_if_the_batch_is_repeated(
    spark, flow, run, taken, published, tmp_path
):
    routes = (
        f"big=parquet:{tmp_path / 'big'}?partition=day",
        f"small=table:sqlite:///{tmp_path / 'out.db'}#SMALL",
        "dead_letters=queue:FAILED",
    )
    run(flow(), *routes)
    for commit in (tmp_path / "checkpoint" / "commits").iterdir():
        commit.unlink()  # as if the driver had died before it knew that the batch is done
    run(flow(), *routes)
    good = [(number, body) for number, body in enumerate(published) if number % 10]
    big = spark.read.parquet(str(tmp_path / "big")).collect()
    assert sorted(bytes(row["payload"]).decode() for row in big) == sorted(body for n, body in good if n >= 100)
    assert {row["properties"]["number"] for row in big} == {str(number) for number, _ in good if number >= 100}
    with sqlite3.connect(tmp_path / "out.db") as connection:
        small = [row[0].decode() for row in connection.execute("SELECT payload FROM SMALL")]
    assert sorted(small) == sorted(body for number, body in good if number < 100)
    assert bodies(taken("FAILED")) == sorted(body for number, body in enumerate(published) if not number % 10)
    assert not taken("BIG")


def test_what_spark_drops_by_itself_changes_nothing_of_what_is_sent_once(
    spark, flow, source, taken, url, tmp_path, caplog
):
    folder = flow(
        nodes="""
            in: {type: TopicInput, topic: unused, domain: JSON}
            check: {type: Filter, esql: hot.esql}
            big: {type: QueueOutput, queue: BIG}""",
        wires="""
            in.out -> check
            check.true -> big""",
    )
    condition = "Body.Data.temperature > 40"
    (folder / "hot.esql").write_text(
        CHECK.format(limit=0).replace("CAST(Body.Order.Amount AS INTEGER) >= 0", condition)
    )
    sent = [f'{{"temperature": {number}}}' if number % 7 else f"bad {number}" for number in range(60)]
    with connect(url) as connection, connection.session() as session:
        for number, body in enumerate(sent):
            session.producer(Topic(f"readings/{number % 2}")).send(Message(body, properties={"number": number}))
    caplog.set_level("INFO", "heliograph.pipeline")
    for _ in range(2):
        start_flow(
            spark,
            folder,
            source_options={**source, "stream": "readings"},
            routes=Routes.parse((f"dead_letters=parquet:{tmp_path / 'failed'}",)),
            checkpoint=str(tmp_path / "checkpoint"),
            available_now=True,
        ).awaitTermination()
        for commit in (tmp_path / "checkpoint" / "commits").iterdir():
            commit.unlink()  # as if the driver had died before it knew that the batch is done
    assert "Spark drops messages for filter 'check'" in caplog.text
    assert bodies(taken("BIG")) == sorted(body for n, body in enumerate(sent) if n % 7 and n > 40)
    failed = [bytes(row["payload"]).decode() for row in spark.read.parquet(str(tmp_path / "failed")).collect()]
    assert sorted(failed) == sorted(body for n, body in enumerate(sent) if not n % 7)


def test_a_flow_in_one_partition_keeps_the_order_and_its_shared_variables(spark, flow, run, source, taken, tmp_path):
    folder = flow(
        nodes="""
        in: {type: QueueInput, queue: BOUND, order: by-queue}
        count: {type: Compute, esql: count.esql, module: Count}
        out: {type: QueueOutput, queue: BIG}
        """,
        wires="in.out -> count\ncount.out -> out",
        settings="spark: {single_partition: yes}",
    )
    (folder / "count.esql").write_text("""
    CREATE COMPUTE MODULE Count
      DECLARE Counted SHARED INTEGER 0;
      CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
        SET Counted = Counted + 1;
        SET OutputRoot.JSON.Data.counted = Counted;
        RETURN TRUE;
      END;
    END MODULE;
    """)
    source["maxMessagesPerTrigger"] = "70"
    run(folder, f"out=parquet:{tmp_path / 'out'}", checkpoint=f"file://{tmp_path / 'here'}")
    assert (tmp_path / "here" / "commits").is_dir()
    assert (tmp_path / "here" / "shared").is_dir()
    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    counted = {(row["partition"], row["offset"]): json.loads(row["payload"])["counted"] for row in rows}
    assert sorted(counted.values()) == list(range(1, 201))
    for partition in {place[0] for place in counted}:
        in_order = [counted[place] for place in sorted(counted) if place[0] == partition]
        assert in_order == sorted(in_order)


def test_what_the_server_refuses_fails_the_query_and_says_why(flow, run):
    nodes = NODES.replace("queue: BIG", "queue: NOT.THERE")
    with pytest.raises(Exception, match=r"NOT\.THERE"):
        run(flow(nodes=nodes))


def test_a_route_that_cannot_be_is_told_before_anything_runs(flow, run):
    with pytest.raises(Problem, match="route of big: there is no column dya to partition by"):
        run(flow(), "big=parquet:out?partition=dya")
    with pytest.raises(Problem, match="route of big: 'id wrong' is no schema"):
        run(flow(), "big=parquet:out?format=json&schema=id wrong")
    with pytest.raises(Problem, match="route of big: expected a folder that the driver and all executors reach"):
        run(flow(), "big=parquet:s3://bucket/out")


@pytest.mark.parametrize("checkpoint", ["/data/here", "file:///data/here", "file:/data/here"])
def test_a_checkpoint_is_a_folder_or_the_url_of_one(checkpoint):
    assert checkpoint_folder(checkpoint, STATE) == Path("/data/here")


def test_a_relative_checkpoint_is_where_the_program_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert checkpoint_folder("here/x:y", STATE) == tmp_path / "here/x:y"


def test_what_has_to_be_in_a_folder_is_told_if_the_checkpoint_is_elsewhere(flow, run):
    with pytest.raises(Problem, match=r"file:///FOLDER, because databases of the flow are .*, found hdfs://a/b"):
        run(flow(), checkpoint="hdfs://a/b")
    with pytest.raises(Problem, match="because the flow's SHARED variables are kept in it, found s3a://a/b"):
        run(flow(settings="spark: {single_partition: yes}"), checkpoint="s3a://a/b", state="/data")


def test_the_folder_of_a_log_is_enough_if_nothing_goes_to_the_server(spark, flow, run, server, source, tmp_path):
    source["server"] = str(server.config.with_name(f"{server.config.stem}-data"))
    routes = (f"big=parquet:{tmp_path / 'big'}", f"small=table:sqlite:///{tmp_path / 'out.db'}#SMALL")
    with pytest.raises(Problem, match=r"server from: dead_letters; .* such as dead_letters=parquet:FOLDER"):
        run(flow(), *routes)
    run(flow(), *routes, f"dead_letters=parquet:{tmp_path / 'failed'}")
    with sqlite3.connect(tmp_path / "out.db") as connection:
        (small,) = connection.execute("SELECT count(*) FROM SMALL").fetchone()
    found = [spark.read.parquet(str(tmp_path / name)).count() for name in ("big", "failed")]
    assert [*found, small] == [90, 20, 90]


def test_two_versions_of_a_flow_are_compared_on_what_the_stream_has(spark, flow, source):
    messages = spark.read.format("heliograph").options(**source).load()
    comparison = compare(flow("old", limit=100), flow("new", limit=150), messages, samples=1)
    assert comparison.counts == {
        "big": {"equal": 45, "only old": 45},
        "small": {"equal": 90, "only new": 45},
        "dead_letters": {"equal": 20},
    }
    assert not comparison.is_equal
    lines = comparison.text().splitlines()
    assert lines[0].split("  ")[0] == "output"
    assert ["big", "45", "0", "45", "0"] in [line.split() for line in lines]
    assert "  + destination: SMALL" in lines


def test_the_same_version_does_the_same(spark, flow, source):
    messages = spark.read.format("heliograph").options(**source).load()
    assert compare(flow("old"), flow("new"), messages).is_equal


def test_dates_are_those_of_messages(spark, flow, run, tmp_path):
    run(flow(), f"big=parquet:{tmp_path / 'big'}?partition=day")
    (day,) = [path.name for path in Path(tmp_path / "big").glob("day=*")]
    assert day > f"day={NOON:%Y-%m-%d}"


def test_messages_are_published_once_even_if_the_batch_is_repeated(empty_queues, flow, run, taken, published, tmp_path):
    run(flow())
    for commit in (tmp_path / "checkpoint" / "commits").iterdir():
        commit.unlink()  # as if the driver had died before it knew that the batch is done
    run(flow())
    good = [(number, body) for number, body in enumerate(published) if number % 10]
    assert bodies(taken("BIG")) == sorted(body for number, body in good if number >= 100)
    assert bodies(taken("SMALL")) == sorted(body for number, body in good if number < 100)
    assert taken("SYSTEM.DEAD.LETTER.QUEUE").total() == len(published) - len(good)


def test_all_messages_that_were_read_are_in_sparks_figures(spark, flow, source, published, tmp_path):
    query = start_flow(
        spark,
        flow(),
        source_options=source,
        routes=Routes(),
        checkpoint=str(tmp_path / "checkpoint"),
        available_now=True,
    )
    query.awaitTermination()
    assert sum(one["numInputRows"] for one in query.recentProgress) == len(published)


def test_a_flow_in_one_partition_publishes_in_one_task(empty_queues, flow, run, source, taken):
    folder = flow(
        nodes="""
        in: {type: QueueInput, queue: BOUND}
        count: {type: Compute, esql: count.esql, module: Count}
        out: {type: QueueOutput, queue: BIG}
        """,
        wires="in.out -> count\ncount.out -> out",
        settings="spark: {single_partition: yes}",
    )
    (folder / "count.esql").write_text("""
    CREATE COMPUTE MODULE Count
      DECLARE Counted SHARED INTEGER 0;
      CREATE FUNCTION Main() RETURNS BOOLEAN BEGIN
        SET Counted = Counted + 1;
        SET OutputRoot.JSON.Data.counted = Counted;
        RETURN TRUE;
      END;
    END MODULE;
    """)
    source["maxMessagesPerTrigger"] = "70"
    run(folder)
    counted = [json.loads(body)["counted"] for body in bodies(taken("BIG"))]
    assert sorted(counted) == list(range(1, 201))
