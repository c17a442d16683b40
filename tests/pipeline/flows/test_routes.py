"""Routes say where the outputs of a flow go."""

import pickle

import pytest

from heliograph.errors import Problem
from heliograph.pipeline.flows.routes import Route, Routes


@pytest.mark.parametrize(
    ("text", "route"),
    [
        ("flow", Route()),
        ("topic:orders/big", Route("topic", "orders/big")),
        ("queue:BIG", Route("queue", "BIG")),
        ("parquet:out/orders", Route("parquet", "out/orders")),
        ("parquet:out?partition=day", Route("parquet", "out", partition=("day",))),
        ("parquet:out?partition=day,device", Route("parquet", "out", partition=("day", "device"))),
        ("table:sqlite:///a.db#ORDERS", Route("table", "sqlite:///a.db", "ORDERS")),
        ("table:postgresql://h/d?x=1#T", Route("table", "postgresql://h/d?x=1", "T")),
        ("table:sqlite:///a.db#T?format=json&schema=id int", Route("table", "sqlite:///a.db", "T", "id int")),
        ("parquet:out?format=json&schema=id int, at timestamp", Route("parquet", "out", "", "id int, at timestamp")),
    ],
)
def test_a_route_is_written_as_kind_and_place(text, route):
    assert Route.parse(text) == route


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("kafka:orders", "expected flow, topic:NAME"),
        ("queue:", "expected flow, topic:NAME"),
        ("flow:x", "expected flow, topic:NAME"),
        ("table:sqlite:///a.db", "expected table:URL#TABLE"),
        ("parquet:out?by=day", "parquet has no option by; it has: format, schema, partition"),
        ("parquet:out?format=xml", "expected format=json, found format=xml"),
        ("parquet:out?format=json", "format=json and schema=DDL go together"),
    ],
)
def test_a_route_that_makes_no_sense_is_told(text, told):
    with pytest.raises(Problem, match="route of out: ") as problem:
        Routes.parse({"out": text})
    assert told in str(problem.value)


def test_nodes_without_a_route_send_where_they_say():
    routes = Routes.parse(["big=topic:orders/big", "dead_letters=parquet:failed"])
    assert routes.of("big") == Route("topic", "orders/big")
    assert routes.of("small") == Route()
    assert routes.dead_letters == Route("parquet", "failed")


def test_an_output_has_one_route():
    with pytest.raises(Problem, match="big has two routes"):
        Routes.parse(["big=flow", "big=queue:B"])


def test_a_route_names_its_node():
    with pytest.raises(Problem, match="expected NODE=ROUTE"):
        Routes.parse(["queue:BIG"])


def test_routes_travel_to_other_processes():
    routes = Routes.parse(["big=topic:orders/big"])
    assert pickle.loads(pickle.dumps(routes)) == routes
