"""A binding says which messages of a filter go to its queue, and what it costs."""

import pytest

from heliograph.broker.core.queue_definition import TEMPORARY_MODEL
from heliograph.broker.queues.binding import Binding, Bound, bound, is_wanted
from heliograph.broker.queues.message_view import MessageView
from heliograph.broker.queues.selectors.compiling import selector_for

RED = selector_for("colour = 'red'")


def view(colour):
    seen = MessageView(b"")
    seen.application = {"colour": colour}
    return seen


def test_a_queue_with_a_binding_that_takes_all_is_plain_whatever_its_others_are(scene):
    one, two = scene.queue("ONE"), scene.queue("TWO")
    some = Binding("a/#", one, RED, "")
    all_of_one = Binding("a/+", one, None, "")
    choosy = Binding("a/b", two, None, "container")
    assert bound([some, all_of_one, choosy]) == Bound((one,), ((two, (choosy,)),))
    assert bound([some, choosy]) == Bound((), ((one, (some,)), (two, (choosy,))))
    assert bound([]) == Bound((), ())


def test_a_queue_is_there_once_with_all_its_bindings(scene):
    queue = scene.queue()
    bindings = [Binding("a", queue, RED, ""), Binding("+", queue, RED, "")]
    assert bound(bindings) == Bound((), ((queue, tuple(bindings)),))
    plain = [Binding("a", queue, None, ""), Binding("+", queue, None, "")]
    assert bound(plain) == Bound((queue,), ())


def test_it_is_durable_if_one_of_the_queues_keeps_messages(durable):
    kept = durable.queue("KEPT")
    fleeting = durable.queues.create_dynamic(TEMPORARY_MODEL, object())
    assert not bound([Binding("a", fleeting, None, "")]).is_durable
    assert bound([Binding("a", kept, None, "")]).is_durable
    assert bound([Binding("a", fleeting, None, ""), Binding("a", kept, RED, "")]).is_durable


@pytest.mark.parametrize(
    ("selectors_and_containers", "colour", "publisher", "wanted"),
    [
        ([(None, "")], "red", "me", True),
        ([(RED, "")], "red", "me", True),
        ([(RED, "")], "blue", "me", False),
        ([(None, "me")], "red", "me", False),
        ([(None, "me")], "red", "you", True),
        ([(None, "me"), (RED, "")], "red", "me", True),
        ([(RED, "me"), (RED, "you")], "red", "me", True),
        ([(RED, "me"), (RED, "you")], "blue", "me", False),
    ],
)
def test_one_binding_that_lets_a_message_through_is_enough(scene, selectors_and_containers, colour, publisher, wanted):
    queue = scene.queue()
    bindings = tuple([Binding("a", queue, *both) for both in selectors_and_containers])
    assert is_wanted(bindings, view(colour), publisher) is wanted


def test_its_queue_pays_for_it_as_long_as_it_is_there(scene):
    queue = scene.queue()
    before = queue.account.used
    plain = Binding("a/b", queue, None, "")
    cost = queue.account.used - before
    assert cost > 6
    chosen = Binding("a/b", queue, RED, "")
    assert queue.account.used - before - cost > cost
    del plain, chosen
    assert queue.account.used == before


def test_it_tells_the_log_all_of_itself(scene):
    binding = Binding("a/#", scene.queue(), RED, "container", "mine")
    assert binding.fields() == {"filter": "a/#", "selector": "colour = 'red'", "no_local": "container", "name": "mine"}
    assert repr(binding) == "Binding('a/#', 'Q')"
    assert Binding("a", scene.queue("R"), None, "").fields()["selector"] == ""
