"""The server as AMQP clients see it: what it offers, whom it sends elsewhere, and whom it turns away."""

import pytest

from heliograph.amqp import Opened
from heliograph.broker.amqp.host import Elsewhere

SOLE = "sole-connection-for-container"


def test_the_server_says_what_it_can_do(scene):
    scene.host.failover = (Elsewhere("standby", 5673),)
    client = scene.amqp()
    (opened,) = client.take(Opened)
    assert set(opened.open.offered_capabilities) == {
        "ANONYMOUS-RELAY",
        "DELAYED_DELIVERY",
        "SHARED-SUBS",
        SOLE,
        "heliograph:received",
    }
    properties = opened.open.properties
    assert (properties["product"], properties["queue-prefix"], properties["topic-prefix"]) == (
        "heliograph",
        "queue://",
        "topic://",
    )
    assert properties["failover-server-list"] == [{"network-host": "standby", "port": 5673, "scheme": "amqp"}]


def test_a_client_that_asks_for_another_host_is_sent_there(scene):
    scene.host.redirects = {"QM2": Elsewhere("10.0.0.2", 5674, "amqps")}
    error = scene.amqp(hostname="QM2").error
    assert error.condition == "amqp:connection:redirect"
    assert error.info == {"hostname": "QM2", "network-host": "10.0.0.2", "port": 5674, "scheme": "amqps"}


def test_a_client_that_asks_for_a_server_that_does_not_answer_is_served_by_nobody_else(scene):
    scene.host.redirects = {"QM1": None}
    error = scene.amqp(hostname="QM1").error
    assert (error.condition, error.description) == (
        "amqp:connection:forced",
        "the queue manager QM1 is not running",
    )


@pytest.mark.parametrize("asked", ["NOPE", "qm1", "vhost:QM1"])
def test_a_client_that_asks_for_a_queue_manager_that_is_not_there_is_told_which_there_are(scene, asked):
    scene.host.redirects = {"QM1": Elsewhere("10.0.0.2", 5674), "QM2": None}
    scene.host.may_be_us = {"here"}.__contains__
    error = scene.amqp(hostname=asked).error
    assert error.condition == "amqp:not-found"
    assert f"there is no queue manager {asked}, only {scene.host.name}, QM1, QM2 " in error.description


def test_a_client_that_asks_for_this_machine_is_served_beside_queue_managers(scene):
    scene.host.redirects = {"QM1": None}
    scene.host.may_be_us = {"here"}.__contains__
    assert scene.amqp(hostname="here").connection.opened
    assert scene.amqp(hostname=scene.host.name).connection.opened
    assert scene.amqp(hostname="").connection.opened
    assert scene.amqp(hostname=None).connection.opened


def test_where_there_are_no_queue_managers_any_name_is_this_servers(scene):
    scene.host.may_be_us = lambda _: False
    assert scene.amqp(hostname="NOPE").connection.opened


def test_past_the_limit_nobody_is_let_in(make):
    scene = make(connections=1)
    scene.amqp("first")
    assert scene.amqp("second").error.condition == "amqp:resource-limit-exceeded"


def test_more_connects_a_second_than_allowed_are_refused(make):
    scene = make(connects_per_second=1)
    scene.amqp("first")
    assert scene.amqp("second").error.condition == "amqp:resource-limit-exceeded"
