"""The blocking face, over sockets."""

import ssl
import threading

import pytest

from client.served import PATIENCE, served, wait_for
from client.small_broker import Broker
from heliograph.client import Acknowledge, Message, connect
from heliograph.client.errors import ConnectionLost, IllegalState, NoAnswer, SecurityError, TransactionRolledBack
from heliograph.errors import Problem


@pytest.fixture
def server():
    with served(Broker()) as running:
        yield running


def _threads():
    return {thread for thread in threading.enumerate() if thread.name.startswith("heliograph")}


def test_a_message_there_and_back(server):
    with connect(server.url) as connection, connection.session() as session:
        session.producer("q").send(Message({"k": "v"}, properties={"colour": "red"}))
        message = session.consumer("q").receive(PATIENCE)
        assert (message.body, message.properties) == ({"k": "v"}, {"colour": "red"})


def test_iterating_over_a_consumer_ends_when_it_is_closed(server):
    with connect(server.url) as connection:
        session = connection.session()
        producer, consumer = session.producer("q"), session.consumer("q")
        for number in range(3):
            producer.send(number)
        bodies = []
        for message in consumer:
            bodies.append(message.body)
            if len(bodies) == 3:
                consumer.close()
        assert bodies == [0, 1, 2]


def test_receiving_from_an_empty_queue(server):
    with connect(server.url) as connection:
        consumer = connection.session().consumer("q")
        assert consumer.receive_nowait() is None
        assert consumer.receive(0.01) is None
        assert server.broker.drains == 2


def test_many_messages_sent_without_waiting_arrive_in_order(server):
    with connect(server.url) as connection:
        session = connection.session()
        producer = session.producer("q", persistent=False)
        receipts = [producer.send_async(number) for number in range(2000)]
        for receipt in receipts:
            receipt.result(PATIENCE)
        consumer = session.consumer("q", prefetch=100)
        assert [consumer.receive(PATIENCE).body for _ in range(2000)] == list(range(2000))
        consumer.close()
    assert max(count for count, _ in server.broker.settlements) > 1


def test_a_receipt_calls_back(server):
    with connect(server.url) as connection:
        told = threading.Event()
        connection.session().producer("q").send_async("m").add_done_callback(lambda receipt: told.set())
        assert told.wait(PATIENCE)


def test_a_callback_that_raises_does_no_harm(server, caplog):
    with connect(server.url) as connection:
        producer = connection.session().producer("q")
        producer.send_async("m").add_done_callback(lambda receipt: 1 / 0)
        producer.send("after")
    assert server.broker.bodies("q") == ["m", "after"]
    assert "ZeroDivisionError" in caplog.text


def test_a_callback_that_would_wait_for_itself_is_told_so(server):
    with connect(server.url) as connection:
        producer = connection.session().producer("q")
        caught = []
        told = threading.Event()

        def send_more(receipt):
            try:
                producer.send("more")
            except IllegalState as problem:
                caught.append(str(problem))
            told.set()

        producer.send_async("m").add_done_callback(send_more)
        assert told.wait(PATIENCE)
        assert "wait for itself" in caught[0]


def test_a_listener_may_send_and_commit(server):
    with connect(server.url) as connection:
        session = connection.session(Acknowledge.TRANSACTED)
        answers = session.producer("out")
        done = threading.Event()

        def work(message):
            answers.send(message.body * 2)
            session.commit()
            if message.body == 9:
                done.set()

        session.consumer("in").listen(work)
        feeder = connection.session().producer("in")
        for number in range(10):
            feeder.send(number)
        assert done.wait(PATIENCE)
        session.close()
    assert server.broker.bodies("out") == [2 * number for number in range(10)]


def test_a_message_that_a_listener_raises_for_comes_again(server, caplog):
    with connect(server.url) as connection:
        session = connection.session()
        counts = []
        done = threading.Event()

        def fail_once(message):
            counts.append(message.delivery_count)
            if len(counts) == 1:
                raise ValueError("not today")
            done.set()

        session.consumer("q").listen(fail_once)
        connection.session().producer("q").send("m")
        assert done.wait(PATIENCE)
        session.close()
    assert counts == [1, 2]
    assert "not today" in caplog.text


def test_listeners_end_with_their_connection(server):
    before = _threads()  # other tests may have left some
    with connect(server.url) as connection:
        session = connection.session()
        heard = threading.Event()
        session.consumer("q").listen(lambda message: heard.set())
        session.producer("q").send("m")
        assert heard.wait(PATIENCE)
    assert not _threads() - before


def test_units_of_work(server):
    with connect(server.url) as connection, connection.session("transacted") as session:
        producer = session.producer("q")
        producer.send("no")
        session.rollback()
        producer.send("yes")
        session.commit()
        assert server.broker.bodies("q") == ["yes"]


def test_client_acknowledgement_and_recover(server):
    with connect(server.url) as connection, connection.session("client") as session:
        producer, consumer = session.producer("q"), session.consumer("q")
        for body in ("a", "b"):
            producer.send(body)
        assert consumer.receive(PATIENCE).body == "a"
        session.recover()
        again = consumer.receive(PATIENCE)
        assert (again.body, again.delivery_count) == ("a", 2)
        again.acknowledge()
        wait_for(lambda: len(server.broker.settlements) == 1)


def test_a_browser_ends_by_itself(server):
    with connect(server.url) as connection, connection.session() as session:
        producer = session.producer("q")
        for body in ("a", "b"):
            producer.send(body)
        with session.browser("q") as browser:
            assert [message.body for message in browser] == ["a", "b"]


def test_requests_from_several_threads(server):
    with connect(server.url) as connection:
        answering = connection.session()
        replies = answering.producer()
        answering.consumer("service").listen(
            lambda request: replies.send(
                Message(request.body + 1, correlation_id=request.correlation_id), request.reply_to
            )
        )
        session = connection.session()
        results = {}

        def ask(number):
            results[number] = session.request("service", number, PATIENCE).body

        threads = [threading.Thread(target=ask, args=(number,)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE)
        assert results == {number: number + 1 for number in range(5)}
        with pytest.raises(NoAnswer):
            session.request("nobody", "hello", 0.01)
        answering.close()


def test_temporary_and_durable_things(server):
    with connect(server.url, client_id="me") as connection, connection.session() as session:
        place = session.temporary_queue()
        session.producer(place).send("m")
        assert session.consumer(place).receive(PATIENCE).body == "m"
        session.delete(place)
        session.temporary_topic()
        session.consumer("topic://news", subscription="mine", durable=True).close()
        session.unsubscribe("mine")
        assert server.broker.subscriptions == {}


def test_everything_goes_on_when_the_server_is_back(server):
    events = []
    with connect(
        server.url,
        on_interrupted=lambda problem: events.append("interrupted"),
        on_restored=lambda url: events.append("restored"),
    ) as connection:
        session = connection.session()
        producer, consumer = session.producer("q"), session.consumer("q")
        transacted = connection.session("transacted")
        unit = transacted.producer("q")
        unit.send_async("lost").result(PATIENCE)
        server.stop()
        wait_for(lambda: "interrupted" in events)
        receipt = producer.send_async("kept")
        server.start()
        receipt.result(PATIENCE)
        assert consumer.receive(PATIENCE).body == "kept"
        wait_for(lambda: "restored" in events)
        with pytest.raises(TransactionRolledBack):
            transacted.commit()


def test_a_server_that_is_not_there(server):
    before = _threads()  # other tests may have left some
    server.stop()
    with pytest.raises(ConnectionLost, match="cannot connect"):
        connect(server.url)
    assert not _threads() - before


def test_a_wrong_password(server):
    server.broker.users = {"ann": "right"}
    with pytest.raises(SecurityError):
        connect(server.url.replace("amqp://", "amqp://ann:wrong@"))
    connect(server.url.replace("amqp://", "amqp://ann:right@")).close()


def test_what_is_closed_says_so(server):
    connection = connect(server.url)
    session = connection.session()
    producer = session.producer("q")
    connection.close()
    connection.close()
    for call in (connection.session, lambda: producer.send("m"), session.commit):
        with pytest.raises(IllegalState, match="closed"):
            call()


def test_tls_checks_the_server_and_shows_a_certificate(authority):
    pair = authority.issue("server", "client-tests")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority.cert)
    context.load_cert_chain(pair.cert, pair.key)
    with served(Broker(), ssl=context) as running:
        url = running.url.replace("amqp://", "amqps://")
        with connect(url, ca=authority.cert) as connection:
            connection.session().producer("q").send("m")
        with pytest.raises(ConnectionLost, match="certificate"):
            connect(url)
        connect(url, verify=False).close()
        with pytest.raises(Problem, match="no-such-file"):
            connect(url, ca="no-such-file")
