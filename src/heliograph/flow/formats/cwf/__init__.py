"""CWF: fixed structures without delimiters, as C and COBOL keep them."""

from heliograph.flow.formats.cwf.cwf_plan import PROPERTIES, plan
from heliograph.flow.formats.cwf.cwf_reading import generate_reader
from heliograph.flow.formats.cwf.cwf_writing import generate_writer
from heliograph.flow.formats.model import Message, PhysicalFormat, Source
from heliograph.flow.tree import Text


class Cwf:
    """The kind of format."""

    properties = PROPERTIES

    def generate(self, message: Message, form: PhysicalFormat, text: Text) -> Source:
        """Source of the reader and the writer."""
        source = Source(f"{message.name} as {form.name}, CCSID {text.ccsid}, encoding {text.encoding}")
        root = plan(message, form, text)
        title = f"{form.kind} {form.name} of {message.name}"
        generate_reader(source, root, title)
        generate_writer(source, root, title)
        return source


KIND = Cwf()
