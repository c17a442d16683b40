"""From an error inside generated code to a problem that names the field.

Generated code has one `try` around all of it, and a table of what each line works on. So the way without errors costs
nothing, and an error can still say where it happened.
"""

import re
import struct
from collections.abc import Mapping

from heliograph.flow.formats.model.source import Site
from heliograph.flow.formats.problem import CANNOT_READ, CANNOT_WRITE, FormatProblem

ERRORS = (ValueError, struct.error, ArithmeticError, LookupError)
"""What generated code may run into, UnicodeError among them."""
INDEX = re.compile(r"\[(i\d+)\]")


def read_problem(error: Exception, sites: Mapping[int, Site], form: str, data: bytes) -> FormatProblem:
    """The problem of a reader; the error was caught in the generated function itself."""
    site, local = _site(error, sites)
    offset = eval(site.at, {}, local) if site.at else None  # noqa: S307 - we generated it
    found, path = _found(error), site.path
    if isinstance(error, struct.error) and offset is not None:
        left = max(len(data) - offset, 0)
        found = f"{left} bytes"
        for end, part_path in site.parts:
            if end > left:
                path = part_path
                break
    return FormatProblem(
        form, site.expected or "other bytes", found, path=_numbered(path, local), offset=offset, number=CANNOT_READ
    )


def write_problem(error: Exception, sites: Mapping[int, Site], form: str) -> FormatProblem:
    """The problem of a writer."""
    site, local = _site(error, sites)
    path = _numbered(site.path, local)
    return FormatProblem(form, site.expected or "another value", _found(error), path=path, number=CANNOT_WRITE)


def _site(error: Exception, sites: Mapping[int, Site]) -> tuple[Site, Mapping[str, object]]:
    trace = error.__traceback__
    assert trace is not None
    return sites.get(trace.tb_lineno) or Site("", "", ""), trace.tb_frame.f_locals


def _numbered(path: str, local: Mapping[str, object]) -> str:
    """The path with the numbers of repetitions, from 1."""

    def number(found: re.Match[str]) -> str:
        at = local.get(found[1])
        return f"[{at + 1}]" if isinstance(at, int) else ""

    return INDEX.sub(number, path.rstrip("."))


def _found(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"{error.object.hex()} ({error.reason})"
    if isinstance(error, UnicodeEncodeError):
        return f"{error.object!r}, of which {error.object[error.start : error.end]!r} is not in {error.encoding}"
    return str(error)
