"""What programs cannot read is a MessageFormat."""

import pytest

from heliograph.client import encoded
from heliograph.client.errors import MessageFormat


@pytest.mark.parametrize("look", [encoded.read, encoded.front, encoded.own_properties])
def test_bytes_that_are_no_message_are_a_message_format(look):
    with pytest.raises(MessageFormat, match="cannot be read"):
        look(b"\xff" * 9)
