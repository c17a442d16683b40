"""TDS (tagged/delimited string): text whose fields end at delimiters, have tags, or have fixed lengths.

Theory of operation. `tds_plan` resolves the properties of a model (`PROPERTIES`) into a plan of groups and fields.
`tds_reading` and `tds_writing` generate Python source from the plan, once for each message, format and character set:
one function for each group, straight through its members. Both generate two ways through a simple group:

- the fast way, which finds all delimiters with `str.split`, or joins all values and checks the joined text once;
- the careful way, member by member, which handles quoted and escaped delimiters and reports errors.

The fast way hands over to the careful way as soon as the text or tree is unusual."""

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
    """The TDS kind of format."""

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
