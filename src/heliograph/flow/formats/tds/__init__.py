"""TDS: tagged and delimited text. See `properties` for the words, `plan` for what a model means."""

from collections.abc import Mapping

from heliograph.flow.formats.charsets import charset, named_charset
from heliograph.flow.formats.model import Message, PhysicalFormat, Property, Source
from heliograph.flow.formats.tds.generated_support import ErrorReports, Spot
from heliograph.flow.formats.tds.tds_plan import PROPERTIES, plan
from heliograph.flow.formats.tds.tds_reading import generate_reader
from heliograph.flow.formats.tds.tds_writing import generate_writer
from heliograph.flow.tree import Text

__all__ = ["KIND", "Tds"]


class Tds:
    """The kind of format."""

    properties: Mapping[str, Property] = PROPERTIES

    def generate(self, message: Message, form: PhysicalFormat, text: Text) -> Source:
        """See Kind."""
        planned = plan(message, form)
        given = form.properties.get("encoding")
        characters = (
            named_charset(given) if given and not given.isdigit() else charset(int(given or text.ccsid), text.encoding)
        )
        source = Source(f"{message.name} as {form.name}")
        spots: dict[int, Spot] = {}
        errors = ErrorReports(planned.title, characters.name, spots)
        generate_reader(planned, source, characters, errors, spots)
        generate_writer(planned, source, characters, errors, spots)
        return source


KIND = Tds()
