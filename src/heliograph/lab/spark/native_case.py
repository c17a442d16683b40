"""A Filter that one message in twenty passes: in Python, beside what Spark drops of it by itself."""

from collections.abc import Iterator

from heliograph.lab.flows.folders import write_folder
from heliograph.lab.spark.rows import Effort, Row, Run, best, run_of
from heliograph.lab.spark.site import SparkSite

KINDS = (("JSON", 200, "native"), ("JSON", 2000, "native"), ("XMLNSC", 1000, "xpath"))
"""Domain and size of messages, and what Spark does with them: the flow itself, or, where no part of a flow is native,
no more than to find the messages that pass."""
_BELOW = {"JSON": "Data", "XMLNSC": "M"}
_TITLES = {"native": "filter, JSON, what is dropped by Spark", "xpath": "xpath of Spark, XML, nothing sent on"}
_FLOW = """\
flow: filter
nodes:
  in: {{type: TopicInput, topic: "made/#", domain: {domain}}}
  check: {{type: Filter, esql: check.esql}}
  out: {{type: QueueOutput, queue: OUT}}
connections:
  - in.out -> check
  - check.true -> out
"""
_CONDITION = """\
CREATE FILTER MODULE IsHot
  CREATE FUNCTION Main() RETURNS BOOLEAN
  BEGIN
    RETURN Body.{below}.temperature > 95 AND Body.{below}.kind = 'measured';
  END;
END MODULE;
"""


def measure(site: SparkSite, effort: Effort) -> Iterator[Row]:
    """Each kind of messages, both ways in turn."""
    for domain, size, way in KINDS:
        files = {"flow.yaml": _FLOW.format(domain=domain), "check.esql": _CONDITION.format(below=_BELOW[domain])}
        path = str(site.folder / f"{domain}-{size}")
        order = {"folder": str(write_folder(site.folder / f"filter-{domain}", files)), "path": path}
        site.worker.ask("messages", {"rows": effort.filtered, "size": size, "domain": domain, "path": path})
        runs: dict[str, list[Run]] = {"python": [], way: []}
        for number in range(effort.rounds + 1):
            for each, found in runs.items():
                answer, spent = site.ask("filter", {**order, "way": each})
                if number:  # the first round was warming up
                    found.append(run_of(effort.filtered, answer["seconds"], spent))
        base = best(runs["python"])
        yield Row(f"= filter, {domain}, in Python", size, base)
        yield Row(_TITLES[way], size, best(runs[way]), base)
