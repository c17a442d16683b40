"""Formats: how the parts of a message are read from bytes and written as bytes, one module per domain.

This is what other rooms use of it; modules of flows import from the modules themselves.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.flow.formats.catalogue import Catalogue
    from heliograph.flow.formats.envelope import Envelope
    from heliograph.flow.formats.json import JSON_DATA, JSON_ITEM
    from heliograph.flow.formats.model.models import Models
    from heliograph.flow.formats.model.source import Codec
    from heliograph.flow.formats.mqrfh2 import MQRFH2

__getattr__ = lazy_names(
    __name__,
    {
        "catalogue": "Catalogue",
        "envelope": "Envelope",
        "json": "JSON_DATA JSON_ITEM",
        "model.models": "Models",
        "model.source": "Codec",
        "mqrfh2": "MQRFH2",
    },
)
