"""What takes long says so on a terminal, and leaves nothing behind."""

import os
import pty
import subprocess
import sys

from running import PATIENCE, environment

PROGRAM = """
import sys, threading
from heliograph.common import terminal
from heliograph.cli.shared import output
output._SILENCE = 0.01
terminal.guard()
shown, real = threading.Event(), output.steer
def noticed(stream, text):
    real(stream, text)
    shown.set()
output.steer = noticed
with output.showing("scoring \\x1b[2J"):
    if sys.stderr.isatty():
        assert shown.wait(20)
print("done")
"""


def test_on_a_terminal_the_line_is_shown_and_gone_at_the_end() -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=theirs, env=environment()
    )
    os.close(theirs)
    out, _ = process.communicate(timeout=PATIENCE)
    seen = os.read(ours, 65536)
    os.close(ours)
    assert (process.returncode, out) == (0, b"done\n")
    assert seen.startswith(b"\r\x1b[Kscoring \\x1b[2J ... 0 s")
    assert seen.endswith(b"\r\x1b[K")


def test_elsewhere_nothing_is_shown() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, env=environment(), check=True)
    assert (done.stdout, done.stderr) == (b"done\n", b"")
