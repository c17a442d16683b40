"""Runs flows inline: messages come from queues, topics, files and requests, and go where the flow says.

`run_execution_groups` is the way in.
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
