"""What sessions and links write waits for our open, and dispositions come before whatever must not overtake them."""

import pytest

from heliograph.amqp import Options
from heliograph.amqp.engine.output import ConnectionOutput


class Opened(ConnectionOutput):
    """Its open has gone out."""

    def __init__(self) -> None:
        super().__init__(Options("c"))
        self._opened = True


class Gathered:
    """Dispositions of a session, which another flush may follow."""

    def __init__(self, output: ConnectionOutput, *frames: bytes) -> None:
        self.output = output
        self.frames = list(frames)

    def flush(self) -> None:
        self.output.write(self.frames.pop(0))
        if self.frames:
            self.output.gathering.append(self)


def test_what_is_written_before_our_open_is_not_sent():
    output = ConnectionOutput(Options("c"))
    output.write(b"a")
    output.write_pieces([b"b", b"c"])
    assert output.output == []


def test_what_is_written_after_it_is_sent_in_order():
    output = Opened()
    output.write(b"a")
    output.write_pieces([b"b", memoryview(b"c")])
    output.write(b"d")
    assert output.output == [b"a", b"b", b"c", b"d"]


@pytest.mark.parametrize("write", [lambda output: output.write(b"a"), lambda output: output.write_pieces([b"a"])])
def test_nothing_is_held_once_the_connection_is_gone(write):
    output = ConnectionOutput(Options("c"))
    output.gone = True
    write(output)
    assert output.output == output._held == []


def test_flush_goes_on_until_nothing_is_gathered():
    output = Opened()
    output.gathering += [Gathered(output, b"1", b"2"), Gathered(output, b"3")]
    output.flush()
    assert output.output == [b"3", b"1", b"2"]
    assert not output.gathering
