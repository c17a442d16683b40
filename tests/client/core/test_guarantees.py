"""What holds however often and whenever the connection breaks."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from client.memory import Memory
from client.scenes import consumer, fill, producer, send, session
from heliograph.client.core.settings import Acknowledge
from heliograph.client.errors import TransactionInDoubt, TransactionRolledBack
from heliograph.client.pending import start

CUT = st.sampled_from(["cut", "cut before writing"])
STEPS = st.lists(st.sampled_from(["send", "send", "send", "turn", "run"]) | CUT, max_size=30)


def opened() -> Memory:
    memory = Memory()
    memory.broker.credit = 3
    memory.open()
    return memory


def disturb(memory: Memory, step: str) -> None:
    """Let things happen: all that can, one turn, or a break of the connection."""
    if step == "run":
        memory.run()
    elif step == "turn":
        memory.turn()
    elif memory.is_connected:
        memory.cut(lose_output=step == "cut before writing")
    else:
        memory.pass_time(1)


@settings(deadline=None)
@given(STEPS)
def test_every_message_arrives_at_least_once_and_in_order(steps):
    memory = opened()
    core = producer(memory, session(memory))
    sent = []
    for step in steps:
        if step == "send":
            sent.append(send(core, len(sent)))
        else:
            disturb(memory, step)
    memory.pass_time(5)
    assert all(each.done and each.error is None for each in sent)
    assert list(dict.fromkeys(memory.broker.bodies("q"))) == list(range(len(sent)))


@settings(deadline=None)
@given(STEPS)
def test_every_message_is_received_at_least_once_and_none_is_left(steps):
    memory = opened()
    fill(memory, *range(20))
    core = consumer(memory, session(memory), prefetch=4)
    bodies = []
    for step in steps:
        if step == "send":
            message = core.next()
            memory.core.touch(core)
            bodies += [] if message is None else [message.body]
        else:
            disturb(memory, step)
    memory.pass_time(5)
    while (message := core.next()) is not None:
        bodies.append(message.body)
        memory.core.touch(core)
        memory.run()
    assert set(bodies) == set(range(20))
    memory.finish(memory.core.close())
    assert memory.broker.bodies("q") == []


@settings(deadline=None)
@given(st.lists(st.sampled_from(["move", "commit", "roll_back", "turn", "run"]) | CUT, max_size=30))
@example(["move", "cut", "commit", "commit"])
@example(["move", "cut before writing", "commit", "commit"])
def test_units_of_work_move_each_message_exactly_once(steps):
    memory = opened()
    fill(memory, *range(10), queue="in")
    owner = session(memory, Acknowledge.TRANSACTED)
    source, sink = consumer(memory, owner, "in", prefetch=3), producer(memory, owner, "out")
    for step in [*steps, "roll_back"]:
        if step == "move":
            message = source.next()
            memory.core.touch(source)
            if message is not None:
                send(sink, message.body)
        elif step in {"commit", "roll_back"}:
            end(memory, owner, step)
        else:
            disturb(memory, step)
    for _ in range(50):
        memory.pass_time(1)
        message = source.next()
        if message is None:
            break
        memory.core.touch(source)
        send(sink, message.body)
        end(memory, owner, "commit")
    assert sorted(memory.broker.bodies("out")) == list(range(10))


@settings(deadline=None)
@given(st.lists(st.sampled_from(["send", "commit", "roll_back", "turn", "turn", "turn", "run"]) | CUT, max_size=40))
@example(["cut", "send", *["turn"] * 8, "commit", "roll_back"])
def test_what_is_sent_in_units_of_work_arrives_with_the_unit_that_it_belongs_to(steps):
    memory = opened()
    owner = session(memory, Acknowledge.TRANSACTED)
    core = producer(memory, owner)
    unit: list[int] = []
    certain: list[int] = []
    possible: set[int] = set()
    number = 0
    for step in [*steps, "commit"]:
        if step == "send":
            send(core, number)
            unit.append(number)
            number += 1
        elif step in {"commit", "roll_back"}:
            fate = end(memory, owner, step)
            certain += unit if fate == "done" and step == "commit" else []
            possible.update(unit if fate == "in doubt" else [])
            unit = []
        else:
            disturb(memory, step)
    memory.pass_time(5)
    assert [body for body in memory.broker.bodies("q") if body not in possible] == certain


def end(memory: Memory, owner, how: str) -> str:
    """End a unit of work; what is known of it then."""
    ending = start(getattr(owner, how)())
    memory.pass_time(5)
    try:
        memory.finish(ending)
    except TransactionRolledBack:
        assert how == "commit"
        return "undone"
    except TransactionInDoubt:
        assert how == "commit"
        return "in doubt"
    return "done"
