"""All sub-commands of `helio` in one table: what each is for, which module has it, and which extra it needs.

The module of a command is imported when the command is called, and no other, so that `helio pub` starts as fast as
Python does. So this module imports none of them. A module has one command or one action, as functions of its own
(`add_arguments(parser)` and `run(args)` -> exit status; actions have EXAMPLES, too), or several actions, in `ACTIONS`.
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Command:
    """A sub-command, or an action of one."""

    help: str
    """What it is for, in one line."""
    module: str
    """Where it is, below heliograph.cli; its docstring is the description, unless an `Action` has one."""
    extra: str = ""
    """The extra of the install that it needs; "" if the core install has everything."""
    actions: Mapping[str, "Command"] = field(default_factory=dict)
    """Actions that are imported on their own; commands with few imports declare theirs in their module."""


@dataclass(frozen=True, slots=True)
class Action:
    """One of several actions in a module."""

    description: str
    examples: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


_FLOW = {
    "new": Command("make a folder with a small, complete flow and its test cases", "flow.new"),
    "lint": Command("check flows without running them", "flow.lint"),
    "show": Command("draw a flow", "flow.show"),
    "test": Command("run the test cases of a flow, without a server", "flow.test"),
    "compile": Command("show the Python code that ESQL, mappings and models are compiled to", "flow.compile"),
    "run": Command("run a flow that reads from and writes to a server", "flow.run"),
    "trace": Command("send messages through a flow, without a server, and print every step", "flow.trace"),
    "profile": Command("print the time that each node takes", "flow.profile"),
}
_PIPELINE = {
    "run": Command("run a flow or a job on a stream: until it is stopped, once, or over a past range", "pipeline.run"),
    "list": Command("list the pipelines of a server", "pipeline.status"),
    "status": Command("show the state, progress and last error of a pipeline", "pipeline.status"),
    "lag": Command("show how far pipelines are behind their streams", "pipeline.status"),
    "start": Command("start a stopped pipeline, and wait until it runs", "pipeline.control"),
    "stop": Command("stop a pipeline until it is started again, and wait until it has stopped", "pipeline.control"),
    "remove": Command("remove a pipeline that is stopped and not in the server's configuration", "pipeline.control"),
    "compare": Command(
        "run past messages through two versions of a flow, and show the differences", "pipeline.compare"
    ),
    "setup": Command("prepare this machine, so that pipelines start faster", "pipeline.run"),
}
_LAB = {
    "list": Command("list the scenarios, and the systems that they can be run on", "lab.catalogue"),
    "show": Command("show a scenario: its load, its parameters and its pass rule", "lab.catalogue"),
    "run": Command("run scenarios on one or several systems, and keep the raw data", "lab.run"),
    "search": Command("find the highest rate at which a scenario still passes", "lab.search"),
    "compare": Command("tell whether two sets of runs differ significantly", "lab.results"),
    "report": Command("write a report of the results: HTML, CSV, Markdown, JSON", "lab.results"),
    "power": Command("add the log of a power meter to runs", "lab.results"),
}
_BENCH = {
    "flows": Command("measure message flows beside published figures", "bench.measurements", "flow,lab"),
    "spark": Command("measure pipelines on Spark", "bench.measurements", "flow,lab,spark"),
    "scores": Command("measure how fast Spark scores runs of the lab", "bench.measurements", "spark"),
    "restart": Command("measure restarts after kill -9, with full queues", "bench.measurements"),
    "connections": Command("measure many AMQP connections", "bench.measurements"),
    "chart": Command(
        "draw the cost of a message against the number of clients, queues or topics", "bench.measurements"
    ),
    "generator": Command("measure the load generator alone", "bench.measurements"),
    "amqp": Command("measure the AMQP engine alone, in memory", "bench.measurements"),
    "copy": Command("measure the minimum cost of forwarding and storing messages", "bench.measurements"),
}
COMMANDS = {
    "serve": Command("start the server", "server.serve"),
    "config": Command("check or show a configuration file", "server.config"),
    "passwd": Command("manage a password file", "server.passwd"),
    "pub": Command("publish messages to any MQTT server", "mqtt.pub"),
    "sub": Command("subscribe to topics and print the messages", "mqtt.sub"),
    "queue": Command("list and define queues; put, get and browse messages", "queues.queue"),
    "stream": Command("list streams, read their messages, delete them", "log.stream"),
    "qm": Command("list, start and stop queue managers", "queues.qm"),
    "mqsc": Command("run MQSC commands, as administrators of queues know them", "queues.mqsc"),
    "log": Command("show, check and repair the files of a log", "log.log"),
    "flow": Command("write, check, test and run message flows", "flow", "flow", _FLOW),
    "pipeline": Command("run flows and jobs on Spark, and see their progress", "pipeline", "flow,spark", _PIPELINE),
    "lab": Command("put load on any broker, measure it, find its peak, report", "lab", "flow,lab,spark", _LAB),
    "bench": Command("measure this server beside other brokers", "bench.bench", "lab", _BENCH),
    "soak": Command("put a steady load on a server for a long time; fail if it grows", "bench.soak", "lab"),
}
