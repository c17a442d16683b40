"""What nodes have done, and what it took. Only flows that are compiled for it count; others pay nothing."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import perf_counter_ns, thread_time_ns
from typing import Protocol, TypeVar


@dataclass(slots=True)
class NodeStatistics:
    """Of one node; times are in nanoseconds, and without the nodes behind it unless they say so."""

    messages: int = 0
    failures: int = 0
    """Times that it, or something behind it, raised an exception through it."""
    cpu: int = 0
    elapsed: int = 0
    cpu_with_behind: int = 0
    """With the nodes behind it; in a loop, each turn has the next ones inside."""


@dataclass(slots=True)
class Statistics:
    """Of one instance of a flow; add several up with `add`."""

    nodes: dict[str, NodeStatistics] = field(default_factory=dict)
    downstream_cpu: int = 0
    """Of the nodes that the node at hand has called so far: taken off what it took itself."""
    downstream_elapsed: int = 0

    def add(self, other: "Statistics") -> None:
        """Count what another instance has done, too."""
        for name, done in other.nodes.items():
            total = self.nodes.setdefault(name, NodeStatistics())
            total.messages += done.messages
            total.failures += done.failures
            total.cpu += done.cpu
            total.elapsed += done.elapsed
            total.cpu_with_behind += done.cpu_with_behind


class _Resources(Protocol):
    @property
    def statistics(self) -> Statistics | None: ...


class _Run(Protocol):
    @property
    def resources(self) -> _Resources: ...


A = TypeVar("A")
R = TypeVar("R", bound=_Run)


def measured_target(node: str, target: Callable[[A, R], None]) -> Callable[[A, R], None]:
    """The same input terminal, counting into `Resources.statistics`."""

    def accept(assembly: A, run: R) -> None:
        statistics = run.resources.statistics
        if statistics is None:
            target(assembly, run)
            return
        mine = statistics.nodes.get(node)
        if mine is None:
            mine = statistics.nodes[node] = NodeStatistics()
        before_cpu, before_elapsed = statistics.downstream_cpu, statistics.downstream_elapsed
        statistics.downstream_cpu = statistics.downstream_elapsed = 0
        cpu, elapsed = thread_time_ns(), perf_counter_ns()
        try:
            target(assembly, run)
        except Exception:
            mine.failures += 1
            raise
        finally:
            cpu, elapsed = thread_time_ns() - cpu, perf_counter_ns() - elapsed
            mine.messages += 1
            mine.cpu += cpu - statistics.downstream_cpu
            mine.elapsed += elapsed - statistics.downstream_elapsed
            mine.cpu_with_behind += cpu
            statistics.downstream_cpu = before_cpu + cpu
            statistics.downstream_elapsed = before_elapsed + elapsed

    return accept
