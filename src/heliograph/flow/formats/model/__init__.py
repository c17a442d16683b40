"""Models (message sets): logical messages, and the physical formats that they are read and written in."""

from heliograph.flow.errors import ModelProblem
from heliograph.flow.formats.model.logical import (
    Field,
    Group,
    Member,
    Message,
    Model,
    Occurs,
    Order,
    PhysicalFormat,
    Type,
)
from heliograph.flow.formats.model.model_kinds import Property, Reference, reference
from heliograph.flow.formats.model.models import ModelFormat, Models
from heliograph.flow.formats.model.source import Codec, Site, Source

__all__ = [
    "Codec",
    "Field",
    "Group",
    "Member",
    "Message",
    "Model",
    "ModelFormat",
    "Models",
    "Occurs",
    "Order",
    "PhysicalFormat",
    "Property",
    "Reference",
    "Site",
    "Source",
    "Type",
    "reference",
]
