"""The unit for systemd that comes with the project, as far as pipelines depend on it."""

import configparser
import ctypes
import subprocess
from pathlib import Path

import pytest

from heliograph.pipeline.session.java import find_java

UNIT = Path(__file__).parents[3] / "docs" / "guides" / "systemd" / "heliograph.service"
# From linux/prctl.h: no memory that can be written to and executed, which is what MemoryDenyWriteExecute asks for.
PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 65, 1


def java(*, may_execute_what_it_writes: bool) -> int:
    libc = ctypes.CDLL(None)

    def restrict() -> None:
        if not may_execute_what_it_writes and libc.prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0):
            raise OSError("this kernel does not know PR_SET_MDWE")

    program = find_java().home / "bin" / "java"
    return subprocess.run([program, "-version"], preexec_fn=restrict, capture_output=True, check=False).returncode


def test_java_can_run_under_the_unit() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.read(UNIT)
    may = not unit["Service"].getboolean("MemoryDenyWriteExecute")
    assert java(may_execute_what_it_writes=may) == 0


def test_java_cannot_run_where_such_memory_is_denied() -> None:
    """If this ever passes, the unit can be stricter again."""
    try:
        status = java(may_execute_what_it_writes=False)
    except subprocess.SubprocessError:
        pytest.skip("this kernel is older than 6.3, and does not know PR_SET_MDWE")
    assert status != 0
