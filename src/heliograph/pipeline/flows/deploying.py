"""What a flow must not do on Spark: checked before anything runs, with the names of nodes.

Messages of a stream are processed in several processes at once, in no fixed order, and a task that fails is repeated.
Flows that cannot work that way are refused here, or run in one partition if they ask for it.
"""

from collections.abc import Iterable, Iterator, Mapping

from heliograph.flow.definition import FlowDefinition, NodeDefinition, known, single_partition, suggestion
from heliograph.flow.engine import syntax_nodes
from heliograph.flow.inline import read_flow_settings
from heliograph.flow.language import parse_program, syntax
from heliograph.pipeline.errors import NotDeployable
from heliograph.pipeline.flows.aggregation import fan_in
from heliograph.pipeline.flows.reachable import INPUTS, reachable
from heliograph.pipeline.flows.routes import DEAD_LETTERS, Routes

OUTPUTS = ("QueueOutput", "QueueReply", "Publication", "FileOutput")
_ONE_PARTITION = "say `spark: {single_partition: yes}` in the flow file, and all messages go through one partition"
_REFUSED = {
    "HttpReply": "nobody waits for an answer on Spark; run the flow with `helio flow run`",
}
"""Types of nodes that cannot run, and why."""
_REFUSED_INPUTS = {
    "FileInput": "its messages come from files, not from a stream; run the flow with `helio flow run`",
    "HttpInput": "its messages are requests that wait for an answer; run the flow with `helio flow run`",
}


def check_deployable(definition: FlowDefinition, input_node: str | None, routes: Routes) -> str:
    """The input node that messages of a stream go to. `Problem` with everything that keeps the flow from running."""
    entry = _input(definition, input_node)
    asking = reachable(definition, entry)
    problems = [*fan_in.problems(definition, asking)]
    entries = [entry]
    if not problems:
        entries += [one.entry for one in fan_in.fan_ins(definition, asking.values())]
    nodes = {name: node for each in entries for name, node in reachable(definition, each).items()}
    problems += [
        *_refused_nodes(nodes.values()),
        *(problem for each in entries for problem in _order(definition, definition.nodes[each])),
        *_shared(definition),
        *_databases(definition),
        *_files(nodes, routes),
        *_routes(nodes, routes),
    ]
    if problems:
        lines = "\n".join(f"  {problem}" for problem in problems)
        raise NotDeployable(f"flow {definition.name} cannot run on Spark:\n{lines}")
    return entry


def _input(definition: FlowDefinition, wanted: str | None) -> str:
    inputs = {name: node for name, node in definition.nodes.items() if node.type.endswith("Input")}
    fitting = [name for name, node in inputs.items() if node.type in INPUTS]
    if wanted is None:
        fitting = [name for name in fitting if not fan_in.gets_replies(definition, name)] or fitting
        if len(fitting) == 1 or len(inputs) == 1:
            wanted = (fitting or list(inputs))[0]
        else:
            raise NotDeployable(
                f"flow {definition.name} has several inputs; say which one gets the stream: {known(inputs)}"
            )
    if wanted not in inputs:
        raise NotDeployable(
            f"flow {definition.name} has no input {wanted}{suggestion(wanted, inputs)}; it has: {known(inputs)}"
        )
    node = inputs[wanted]
    if node.type in _REFUSED_INPUTS:
        raise NotDeployable(f"flow {definition.name} cannot run on Spark:\n  {_told(node, _REFUSED_INPUTS[node.type])}")
    return wanted


def _told(node: NodeDefinition, why: str) -> str:
    return f"{node.place}: {node.type} {node.name}: {why}"


def _refused_nodes(nodes: Iterable[NodeDefinition]) -> Iterator[str]:
    for node in nodes:
        if node.type in _REFUSED:
            yield _told(node, _REFUSED[node.type])


def _order(definition: FlowDefinition, entry: NodeDefinition) -> Iterator[str]:
    order = entry.properties.get("order", "default")
    if order != "default" and not single_partition(definition.settings):
        yield _told(entry, f"order: {order} cannot be kept by several tasks at once; {_ONE_PARTITION}, in their order")


def _shared(definition: FlowDefinition) -> Iterator[str]:
    if single_partition(definition.settings):
        return
    for file, text in definition.sources.items():
        if file.endswith(".esql"):
            for node in syntax_nodes([parse_program(text, file)]):
                if isinstance(node, syntax.Declaration) and node.shared:
                    yield (
                        f"{file}:{node.at.line}: the SHARED variable {', '.join(node.names)} would have another value "
                        f"in each task; {_ONE_PARTITION}"
                    )


def _databases(definition: FlowDefinition) -> Iterator[str]:
    if read_flow_settings(definition).coordinated:
        yield (
            "coordinated: true is not possible: messages are sent by another part of the query than the one that "
            "changes databases; changes are committed when a task has processed its messages, and done again if the "
            "task is repeated"
        )


def _files(nodes: Mapping[str, NodeDefinition], routes: Routes) -> Iterator[str]:
    for node in nodes.values():
        if node.type == "FileOutput" and node.properties["mode"] == "append" and routes.of(node.name).kind == "flow":
            yield _told(
                node,
                "mode: append would add records again when a task is repeated, and from several tasks at once; "
                f"give it a route, such as {node.name}=parquet:FOLDER",
            )


def _routes(nodes: Mapping[str, NodeDefinition], routes: Routes) -> Iterator[str]:
    outputs = [name for name, node in nodes.items() if node.type in OUTPUTS]
    for name in routes.by_node:
        if name not in outputs:
            yield (
                f"there is a route for {name}{suggestion(name, [*outputs, DEAD_LETTERS])}, which is no output; "
                f"outputs are: {known([*outputs, DEAD_LETTERS])}"
            )


def sends_messages_only(definition: FlowDefinition, entry: str, routes: Routes) -> bool:
    """Whether all that comes out of a flow goes to the server."""
    outputs = [node for node in reachable(definition, entry).values() if node.type in OUTPUTS]
    return all(_goes_to_server(node, routes) for node in outputs) and routes.dead_letters.to_server


def check_folder_suffices(definition: FlowDefinition, entry: str, routes: Routes, folder: str) -> None:
    """`Problem` if a flow that reads the folder of a log, without its server, needs the server all the same."""
    nodes = reachable(definition, entry).values()
    if fan_in.fan_ins(definition, nodes):
        raise NotDeployable(
            f"server: {folder} is the folder of a log, which is for reading only, but flow {definition.name} "
            "aggregates, for which the server makes streams; expected the URL of the server"
        )
    sent = [node.name for node in nodes if node.type in OUTPUTS and _goes_to_server(node, routes)]
    sent += [DEAD_LETTERS] if routes.dead_letters.to_server else []
    if sent:
        raise NotDeployable(
            f"server: {folder} is the folder of a log, which is for reading only, but messages of flow "
            f"{definition.name} go to the server from: {', '.join(sent)}; expected the URL of the server, or files or "
            f"a table for all of them, such as {sent[-1]}=parquet:FOLDER"
        )


def _goes_to_server(node: NodeDefinition, routes: Routes) -> bool:
    route = routes.of(node.name)
    return route.to_server and (node.type != "FileOutput" or route.kind != "flow")


def written_sources(definition: FlowDefinition) -> frozenset[str]:
    """The data sources that the flow may change: answers of these are never cached."""
    used = {str(node.properties.get("data_source") or "") for node in definition.nodes.values()}
    written: set[str] = set()
    for file, text in definition.sources.items():
        if file.endswith(".esql"):
            for node in syntax_nodes([parse_program(text, file)]):
                written |= _written(node)
    # A table without a source is in that of the node, and a routine may be called from any node.
    return frozenset(written | used if "" in written else written)


def _written(node: object) -> set[str]:
    if isinstance(node, syntax.Insert | syntax.Update | syntax.DeleteRows):
        steps = node.table.steps
        return {str(steps[0].name) if len(steps) == 3 else ""}
    if isinstance(node, syntax.Passthru):
        return {str(node.database.steps[0].name) if node.database is not None and node.database.steps else ""}
    if isinstance(node, syntax.Routine) and node.language == "DATABASE":
        return {""}
    return set()
