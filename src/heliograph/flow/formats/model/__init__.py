"""Models (message sets): logical messages, and the physical formats that they are read and written in.

From a model to Python source
-----------------------------

A *model* is read from files in `models/` (`model_loading`, and importers such as `copybook` and `xsd`) into logical
messages (`logical`): fields and groups with types, and for each physical format the properties that a field has there.

A physical format is compiled for one message, when the first part of it is read or written:

1. The kind of format (`model_kinds.kind_named`: CWF, TDS, XML, SWIFT, CSV) makes a *plan*: every property is looked
   up, everything that can be decided without data is decided, and mistakes in the model are found. They are
   `ModelProblem`s with file and line.
2. From the plan it writes *source*: a reader (a generator that adds elements to a part, and yields where it may stop)
   and a writer, straight through the members, without loops over tables or calls per field where these can be avoided.
   Objects that the code needs, such as parsers of values, are handed in by name (`Source.use`).
3. `source.compiled` compiles the text and gives a `Codec`. `Models` keeps it by message, format, character set and
   encoding, so that the text is generated once in a process. `helio flow compile` shows it.

Generated code has one `try` around all of it, which costs nothing as long as nothing fails. A table from line numbers
to fields (`Site`) says afterwards which field a line works on, so that a `FormatProblem` names the field, what was
expected, what was found, and the offset. SWIFT and modelled XML generate no text; their readers and writers work with
tables that are made in step 2.
"""

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
