"""Formats: how the parts of a message are read from bytes and written as bytes, one module or package per domain.

`messages` takes an envelope apart into parts and puts them together again; `catalogue` knows which format reads and
writes a part. Formats without a model are XML, JSON, BLOB and the headers (`mqmd`, `mqrfh2`, `message_properties`).
Formats with a model (`model`) are `cwf`, `tds`, `csv`, `swift` and `mrm_xml`; `copybook` and `xsd` import models.

A format reads lazily: its reader is a generator that adds some elements with each step, and it is only continued while
somebody looks for more. A part that nobody changed keeps its bytes, and is not written again.
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
