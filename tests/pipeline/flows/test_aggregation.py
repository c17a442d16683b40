"""A flow that aggregates as a streaming query: complete sets and those whose time is over, each once."""

import shutil
import threading
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest

from configurations import BOTH
from heliograph.client import Message, Topic, connect
from heliograph.pipeline.flows import Routes, start_flow
from heliograph.pipeline.flows.aggregation.sets import MARGIN, gathered
from pipeline.flows.stream_rows import NOON
from running import servers
from running_flows import Running, text_of

EXAMPLE = Path(__file__).parents[3] / "examples" / "flows" / "aggregation"
PATIENCE = 8
"""Seconds until a set has timed out. Replies follow requests at once, whatever Spark does."""
SUPPLIERS = ("NORTH", "SOUTH", "WEST")
RESULTS = ("BEST", "PARTIAL", "STRAY", "USELESS")
QUEUES = (
    *(f"SUPPLIER.{name}" for name in SUPPLIERS),
    *(f"QUOTES.{name}" for name in ("WANTED", "REPLIES", *RESULTS)),
    "SYSTEM.DEAD.LETTER.QUEUE",
)
CONFIG = f"""{BOTH}
[[stream]]
name = "wanted"
filter = "quotes/wanted"
"""
PRICES = {"chair": {"NORTH": "49.90", "SOUTH": "120", "WEST": "47.5"}, "table": {"NORTH": "7", "WEST": "8"}, "lamp": {}}
"""Who replies what: all, two of three, nobody."""


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    queues = "".join(f'[[queue]]\nname = "{name}"\n' for name in QUEUES)
    with servers(tmp_path_factory.mktemp("server")) as serve:
        yield serve(CONFIG + queues)


@pytest.fixture(scope="module")
def session(server):
    with connect(f"amqp://127.0.0.1:{server.port_of('amqp')}") as connection, connection.session() as session:
        yield session


@pytest.fixture(scope="module")
def flow(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flow") / "aggregation"
    shutil.copytree(EXAMPLE, folder)
    text = (folder / "flow.yaml").read_text()
    (folder / "flow.yaml").write_text(text.replace("patience: 30 ", f"patience: {PATIENCE} "))
    return folder


class Suppliers:
    """Those who are asked."""

    def __init__(self, session):
        self._session = session
        self._asked = {}

    def take(self):
        """Take three requests of each; they must come."""
        for name in SUPPLIERS:
            consumer = self._session.consumer(f"SUPPLIER.{name}")
            for _ in PRICES:
                request = consumer.receive(200)
                assert request is not None
                article = text_of(request).partition("<Article>")[2].partition("</")[0]
                self._asked[name, article] = request
            consumer.close()

    def reply_to_all(self):
        """Each replies to what comes, or not."""
        self.take()
        for article, prices in PRICES.items():
            for name in prices:
                self.reply(name, article)

    def reply(self, name, article, price=None):
        request = self._asked[name, article]
        body = f"<Quote><Price>{price or PRICES[article][name]}</Price></Quote>"
        self._session.producer().send(Message(body, correlation_id=request.message_id), request.reply_to)


def wanted(article):
    return f"<Wanted><Article>{article}</Article></Wanted>"


def arrived(session, expected):
    """What is in the queues of results, when so many are there."""
    end = time.monotonic() + 200
    while True:
        found = {name: Counter(text_of(m) for m in session.browser(f"QUOTES.{name}")) for name in RESULTS}
        if sum(map(Counter.total, found.values())) >= expected:
            return found
        assert time.monotonic() < end, found
        time.sleep(0.2)


def emptied(session):
    """All results, and none is left."""
    found = {}
    for name in RESULTS:
        consumer = session.consumer(f"QUOTES.{name}")
        found[name] = Counter()
        while (message := consumer.receive(0.2)) is not None:
            found[name][text_of(message)] += 1
        consumer.close()
    return found


def inline(flow, server, session, tmp_path):
    running = Running()
    url = f"amqp://127.0.0.1:{server.port_of('amqp')}"
    thread = threading.Thread(target=running.run, args=(flow, tmp_path / "state", url), daemon=True)
    thread.start()
    for article in PRICES:
        session.producer("QUOTES.WANTED").send(wanted(article))
    suppliers = Suppliers(session)
    suppliers.reply_to_all()
    arrived(session, 3)
    suppliers.reply("SOUTH", "table", "1")
    arrived(session, 4)
    running.stop.set()
    thread.join()
    return emptied(session)


def forget_last_commit(checkpoint):
    """As if the driver had died before it knew that the last batch was done, if it was."""
    last = max(int(file.name) for file in (checkpoint / "offsets").iterdir() if file.name.isdecimal())
    (checkpoint / "commits" / str(last)).unlink(missing_ok=True)


@pytest.mark.timeout(900)
def test_sets_are_complete_or_their_time_is_over_as_inline_and_each_comes_once(spark, flow, server, session, tmp_path):
    expected = inline(flow, server, session, tmp_path)

    def start():
        source = {
            "server": f"http://127.0.0.1:{server.port_of('http')}",
            "stream": "wanted",
            "startingOffsets": "earliest",
        }
        return start_flow(spark, flow, source_options=source, routes=Routes(), checkpoint=str(tmp_path / "checkpoint"))

    for article in PRICES:
        session.producer(Topic("quotes/wanted")).send(wanted(article))
    suppliers = Suppliers(session)
    query = start()
    try:
        suppliers.reply_to_all()
        arrived(session, 1)
        query.stop()
        forget_last_commit(tmp_path / "checkpoint")
        query = start()  # what is not complete is in the state of the checkpoint
        arrived(session, 3)
        suppliers.reply("SOUTH", "table", "1")
        arrived(session, 4)
        query.processAllAvailable()
    finally:
        query.stop()
    assert emptied(session) == expected
    assert expected == {
        "BEST": Counter(['<Best replies="3"><Price>47.5</Price><Supplier>West</Supplier></Best>']),
        "PARTIAL": Counter(
            ['<Best replies="2"><Price>7</Price><Supplier>North</Supplier></Best>', '<Best replies="0"/>']
        ),
        "STRAY": Counter(["<Quote><Price>1</Price></Quote>"]),
        "USELESS": Counter(),
    }


SET = "heliograph/aggregation/A/{}/{}-0a"
NOON_MS = round(NOON.timestamp() * 1000)


def message(offset, kind, began=0, came=0, topic=None):
    """A message of a set that began so many seconds after noon."""
    return (topic or SET.format(kind, NOON_MS + 1000 * began), offset, NOON + timedelta(seconds=came))


def frame(spark, *messages):
    return spark.createDataFrame(list(messages), "topic string, offset bigint, timestamp timestamp")


def sets(rows):
    return sorted(sorted(one["offset"] for one in row["messages"]) for row in rows)


def test_what_belongs_to_a_set_is_gathered_however_late_its_deadline_is(spark):
    messages = frame(
        spark,
        message(0, "requests"),
        message(1, "replies", came=5),
        message(2, "requests", began=1),
        message(3, "deadlines", came=90_000),
        message(4, "replies", came=90_001),  # far too late: for itself, and so nothing that Spark has forgotten
        message(5, "replies", topic="heliograph/aggregation/A/replies/9999999999999-0a"),
        message(6, "replies", topic="heliograph/aggregation/A/else"),
    )
    assert sets(gathered(messages, timeout=10).collect()) == [[0, 1, 3], [2], [4], [5], [6]]


def test_sets_are_forgotten_when_their_time_is_long_over(spark, tmp_path):
    later = 10 + 2 * MARGIN + 1
    for number, began in enumerate((0, later, later)):
        frame(spark, message(number, "requests", began, came=began)).coalesce(1).write.mode("append").parquet(
            str(tmp_path / "in")
        )
    source = spark.readStream.schema("topic string, offset bigint, timestamp timestamp").option("maxFilesPerTrigger", 1)
    query = (
        gathered(source.parquet(str(tmp_path / "in")), timeout=10)
        .writeStream.outputMode("update")
        .format("memory")
        .queryName("forgotten")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    kept = [progress["stateOperators"][0]["numRowsTotal"] for progress in query.recentProgress]
    assert kept[0] == 1
    assert kept[-1] == 1, "the first set is gone, the two others are one"
    assert sets(spark.table("forgotten").collect()) == [[0], [1], [1, 2]]
