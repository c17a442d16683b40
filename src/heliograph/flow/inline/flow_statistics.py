"""Statistics of a flow: counted by each instance for itself, added up on demand."""

import json
from dataclasses import dataclass, field, fields
from datetime import datetime

from heliograph.flow.engine.node_statistics import Statistics


@dataclass(slots=True)
class FlowStatistics:
    """Of an instance, a process or a flow; add several up with `add`."""

    messages: int = 0
    """Messages that are done with, whatever became of them."""
    done: int = 0
    dead_letters: int = 0
    discarded: int = 0
    backed_out: int = 0
    """How often a message was given back because it had failed."""
    split_batches: int = 0
    """How often a batch was undone and its messages taken one by one."""
    sent: int = 0
    units: int = 0
    """Units of work."""
    cpu: float = 0.0
    """Seconds of the instances' threads; without those that do the input and output."""
    nodes: Statistics = field(default_factory=Statistics)
    """Per node, if the flow was compiled to be measured."""

    def add(self, other: "FlowStatistics") -> None:
        """Count what another has done, too."""
        for each in fields(self):
            if each.name != "nodes":
                setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))
        self.nodes.add(other.nodes)

    def line(self, flow: str, group: int, now: datetime) -> str:
        """One line of JSON for programs that watch."""
        figures = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "nodes"}
        nodes = {
            name: {"messages": node.messages, "failures": node.failures, "cpu_ms": round(node.cpu / 1e6, 3)}
            for name, node in self.nodes.nodes.items()
        }
        figures["cpu"] = round(self.cpu, 3)
        return json.dumps({"time": now.isoformat(), "flow": flow, "group": group, **figures, "nodes": nodes})

    def table(self) -> str:
        """The same for people."""
        rows = [
            (each.name.replace("_", " "), getattr(self, each.name)) for each in fields(self) if each.name != "nodes"
        ]
        text = "".join(f"{name:<14}{round(value, 3):>12}\n" for name, value in rows)
        if not self.nodes.nodes:
            return text
        text += f"\n{'node':<24}{'messages':>10}{'failures':>10}{'cpu us each':>14}\n"
        for name, node in self.nodes.nodes.items():
            each = node.cpu / 1000 / node.messages if node.messages else 0.0
            text += f"{name:<24}{node.messages:>10}{node.failures:>10}{each:>14.1f}\n"
        return text
