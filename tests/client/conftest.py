"""A client's core and a broker, both in memory."""

import pytest

from client.memory import Memory


@pytest.fixture
def memory() -> Memory:
    """A connection that is open, to the broker `here`."""
    memory = Memory()
    memory.open()
    return memory
