"""Runs flows inline: messages come from queues, topics, files and requests, and go where the flow says.

`run_execution_groups` is the way in.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.flow.inline.conversion import (
        DATAGRAM,
        DEFAULT_CCSID,
        DEFAULT_ENCODING,
        OURS,
        REQUEST,
        TEXT,
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
            DATAGRAM DEFAULT_CCSID DEFAULT_ENCODING OURS REQUEST ServerEnvelope
            TEXT carried_properties is_text payload_of take_header
        """,
        "file_output": "TraceWriter write_file",
        "flow_statistics": "FlowStatistics",
        "execution_groups": "run_execution_groups",
        "server_output": "destination_of",
        "flow_settings": "DEFAULT_SERVER MOST_INSTANCES read_flow_settings",
    },
)


__all__ = [
    "DATAGRAM",
    "DEFAULT_CCSID",
    "DEFAULT_ENCODING",
    "DEFAULT_SERVER",
    "MOST_INSTANCES",
    "OURS",
    "REQUEST",
    "TEXT",
    "FlowStatistics",
    "ServerEnvelope",
    "TraceWriter",
    "carried_properties",
    "destination_of",
    "is_text",
    "payload_of",
    "read_flow_settings",
    "run_execution_groups",
    "take_header",
    "write_file",
]
