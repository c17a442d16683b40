"""The generated Python source of a reader and a writer."""

from flow.formats.model.order_model import ORDER, loaded
from heliograph.flow.tree import Text


def test_the_generated_source_can_be_read() -> None:
    source = loaded(ORDER).codec(Text(message_format="CWF1")).source
    assert "def read(part, data):" in source
    assert "def write(part):" in source
