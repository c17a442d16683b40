"""Runs flows inline: messages come from queues, topics, files and requests, and go where the flow says.

`run_groups` is the way in. What it does with a message that fails is decided by `flow.hosting`. This is what other
rooms use of it; modules of flows import from the modules themselves.
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
    from heliograph.flow.inline.files_out import Tracing, write_file
    from heliograph.flow.inline.flow_statistics import FlowStatistics
    from heliograph.flow.inline.groups import run_groups
    from heliograph.flow.inline.outlet import place_of
    from heliograph.flow.inline.settings import DEFAULT_SERVER, MOST_INSTANCES, settings_of

__getattr__ = lazy_names(
    __name__,
    {
        "conversion": """
            DATAGRAM DEFAULT_CCSID DEFAULT_ENCODING OURS REQUEST ServerEnvelope
            TEXT carried_properties is_text payload_of take_header
        """,
        "files_out": "Tracing write_file",
        "flow_statistics": "FlowStatistics",
        "groups": "run_groups",
        "outlet": "place_of",
        "settings": "DEFAULT_SERVER MOST_INSTANCES settings_of",
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
    "Tracing",
    "carried_properties",
    "is_text",
    "payload_of",
    "place_of",
    "run_groups",
    "settings_of",
    "take_header",
    "write_file",
]
