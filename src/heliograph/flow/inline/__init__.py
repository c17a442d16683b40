"""Runs flows inline, in processes beside the server: input from queues, topics, files and HTTP, output by the flow.

Begin with `run_execution_groups`. `flow.hosting` decides which step follows a failure; the modules here execute it.

Theory of operation
-------------------

**Processes and threads.** A flow runs in one process or in several (*execution groups*, `execution_groups`). The first
process watches over the others, starts those again that die, and adds up their statistics; they talk by a pipe, and a
group ends when its pipe closes. In each process (`flow_process`) every input has one *instance* or several
(`instance`): a thread with a connection to the server, databases and units of work of its own. Instances share only
what is in `Process`. An instance that fails starts again after a pause that grows; a `Problem` that would come again
stops the whole flow.

**Consumers.** What an instance does again and again is one `turn` of its consumer: it takes messages from a queue or
topic, records from a file, a request, or what has timed out (`queue_input`, `file_input`, `http_input`), and hands
them to `UnitsOfWork` as a batch.

**A unit of work** (`units_of_work`) is a batch of messages, everything that they caused, and the changes in databases.
In this order: the flow processes the batch; effects outside of the unit of work are carried out; messages are put and
files are written; databases are committed; the server commits. What fails on the way undoes everything but the effects
outside of the unit of work. When the process dies between the two commits, the messages come again, so without
coordination databases may see a message twice, but never miss one.

**Coordination** (`coordination`). A coordinated flow has the databases prepare first, and lets the server's commit be
the decision. A token, a message with the number of the last unit of work, is taken and put in each unit of work; after
a crash its number says whether the prepared changes are to be committed or rolled back.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.flow.inline.conversion import (
        DATAGRAM_MESSAGE,
        DEFAULT_CCSID,
        DEFAULT_ENCODING,
        MQMD_PROPERTIES,
        MQSTR,
        REQUEST_MESSAGE,
        ServerEnvelope,
        carried_properties,
        is_text,
        payload_of,
        take_header,
    )
    from heliograph.flow.inline.execution_groups import run_execution_groups
    from heliograph.flow.inline.file_output import TraceWriter, write_file
    from heliograph.flow.inline.flow_settings import DEFAULT_SERVER, MOST_INSTANCES, read_flow_settings
    from heliograph.flow.inline.flow_statistics import FlowStatistics
    from heliograph.flow.inline.server_output import destination_of

__getattr__ = lazy_names(
    __name__,
    {
        "conversion": """
            DATAGRAM_MESSAGE DEFAULT_CCSID DEFAULT_ENCODING MQMD_PROPERTIES REQUEST_MESSAGE ServerEnvelope
            MQSTR carried_properties is_text payload_of take_header
        """,
        "file_output": "TraceWriter write_file",
        "flow_statistics": "FlowStatistics",
        "execution_groups": "run_execution_groups",
        "server_output": "destination_of",
        "flow_settings": "DEFAULT_SERVER MOST_INSTANCES read_flow_settings",
    },
)
