"""CWF (custom wire format): fixed structures without delimiters, as C and COBOL keep them in memory.

Theory of operation. `cwf_plan` turns the model of a message into a plan: a tree of steps (`plan_steps`) in the order of
the bytes, with every property resolved. `cwf_reading` and `cwf_writing` generate Python source from the plan, once for
each message, format, character set and encoding. Everything that the plan knows (offsets, lengths, names, conversions)
is a constant in that source, so reading a message looks up no property of the model. Each line that can fail is
registered with the field that it works on (`Site`), so that an error can name the field and its offset."""

from heliograph.flow.formats.cwf.cwf_plan import PROPERTIES, plan
from heliograph.flow.formats.cwf.cwf_reading import generate_reader
from heliograph.flow.formats.cwf.cwf_writing import generate_writer
from heliograph.flow.formats.model import Message, PhysicalFormat, Source
from heliograph.flow.tree import Text


class Cwf:
    """The CWF kind of format."""

    properties = PROPERTIES

    def generate(self, message: Message, form: PhysicalFormat, text: Text) -> Source:
        """Generate the source of the reader and the writer."""
        source = Source(f"{message.name} as {form.name}, CCSID {text.ccsid}, encoding {text.encoding}")
        root = plan(message, form, text)
        title = f"{form.kind} {form.name} of {message.name}"
        generate_reader(source, root, title)
        generate_writer(source, root, title)
        return source


KIND = Cwf()
