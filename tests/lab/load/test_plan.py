"""Plans survive JSON, and say what is wrong with them."""

from dataclasses import replace

import numpy as np
import pytest

from heliograph.errors import Problem
from heliograph.lab.load import Address, Group, Member, Payload, Plan, Step, Will, group_from
from heliograph.lab.load.accounts import Expectation
from heliograph.lab.load.plan import Plan as SamePlan

PLAN = Plan(
    (
        Group(
            "in",
            "publish",
            10,
            destination="t/{client}",
            pace="steps",
            steps=(Step(1.0, 2.0), Step(3.0, 4.0)),
            payload=Payload(ranges=((32, 64),)),
            will=Will("gone", "x", 1),
        ),
        Group(
            "out", "consume", 2, "mqtt5", filters=("t/+",), members=(Member("a", (), ("t/+",)), Member("b", (), ("#",)))
        ),
    ),
    10.0,
    1.5,
    2,
)


def test_a_plan_survives_json() -> None:
    assert SamePlan.from_json(PLAN.to_json()) == PLAN


def test_a_group_from_yaml_may_be_short() -> None:
    group = group_from({"name": "a", "role": "consume", "clients": 3, "filters": "t/#", "payload": 64})
    assert group == Group("a", "consume", 3, filters=("t/#",), payload=Payload((64,)))


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"qso": 1}, "group 'g' has an unknown field 'qso'; did you mean 'qos'?"),
        ({"role": "publsh"}, "role of group 'g' is 'publsh'; did you mean 'publish'?"),
        ({"payload": {"size": 1}}, "payload of group 'g' has an unknown field 'size'; did you mean 'sizes'?"),
    ],
)
def test_unknown_names_are_refused_with_a_suggestion(values: dict[str, object], problem: str) -> None:
    with pytest.raises(Problem) as raised:
        group_from({"name": "g", "role": "publish", "clients": 1} | values)
    assert str(raised.value) == problem


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"clients": 0}, "has 0 clients"),
        ({"qos": 3}, "QoS of group 'in' is 3"),
        ({"destination": ""}, "sends and has no destination"),
        ({"role": "consume"}, "receives and has no filters"),
        ({"role": "request"}, "makes requests and has no reply topic"),
        ({"properties": 3}, "user properties, which mqtt311 does not know"),
        ({"members": (Member("a"),)}, "10 clients and the names of 1"),
    ],
)
def test_groups_that_cannot_run_are_refused(change: dict[str, object], problem: str) -> None:
    plan = replace(PLAN, groups=(replace(PLAN.groups[0], **change),))  # type: ignore[arg-type]
    with pytest.raises(Problem, match=problem):
        plan.check()


def expected(*groups: Group, sent: int) -> dict[int, int]:
    counts = {index: np.full(group.clients, sent) for index, group in enumerate(groups) if group.sends}
    return Expectation(Plan(groups, 1.0), {"main": Address(1)}).of(counts)


def test_every_matching_client_is_to_get_a_message_once_and_a_share_once_together() -> None:
    senders = Group("in", "publish", 10, destination="p/{partition}/{client}", destinations=5)
    each = Group("each", "consume", 5, filters=("p/{partition}/#", "p/+/{client}"), destinations=5)
    share = Group("share", "consume", 7, filters=("p/#",), shared="s")
    nobody = Group("nobody", "consume", 2, filters=("q/#",))
    own = Group("own", "both", 4, destination="o/{client}")
    # A client of `each` whose filters both match gets one copy.
    assert expected(senders, each, share, nobody, own, sent=6) == {1: 60, 2: 60, 3: 0, 4: 24}


def test_topics_of_a_client_take_turns() -> None:
    senders = Group("in", "publish", 1, destination="t/{topic}", topics=4)
    assert expected(senders, Group("out", "consume", 1, filters=("t/1",)), sent=6) == {1: 2}
    assert expected(senders, Group("out", "consume", 1, filters=("t/3",)), sent=6) == {1: 1}
