"""What a terminal is shown of texts that others wrote."""

import io

import pytest

from heliograph.common.terminal import on_one_line, steer, visible, visible_bytes


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text, größer, 日本, 🙂", "plain text, größer, 日本, 🙂"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("\x1b[2J\x1b[31mred", r"\x1b[2J\x1b[31mred"),
        ("\x9b2J", r"\x9b2J"),
        ("a\x7fb\x00c", r"a\x7fb\x00c"),
        ("overwritten\rby this", r"overwritten\x0dby this"),
        ("two\r\nlines\n\tand a tab", "two\r\nlines\n\tand a tab"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("\u2066isolated\u2069", r"\u2066isolated\u2069"),
    ],
)
def test_characters_that_steer_a_terminal_are_shown(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible_bytes(text.encode()) == shown.encode()


def test_bytes_that_are_no_text_are_shown() -> None:
    assert visible_bytes(b"a\x9b2J\xff \xc3\xa4 \xc3") == rb"a\x9b2J\xff " + "ä".encode() + rb" \xc3"


def test_a_text_on_one_line_cannot_look_like_two() -> None:
    assert on_one_line("no\npersistent: yes\r\n") == r"no\npersistent: yes\r\n"


def test_what_is_meant_to_steer_goes_through_to_a_stream_that_is_no_terminal_of_ours() -> None:
    stream = io.StringIO()
    steer(stream, "\r\x1b[K1 s")
    assert stream.getvalue() == "\r\x1b[K1 s"
