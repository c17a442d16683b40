"""Flows for tests, written down in a few lines."""

from pathlib import Path
from typing import Any

from heliograph.flow.testing import FlowUnderTest

JOIN_PRICES = """CREATE COMPUTE MODULE Join
  CREATE FUNCTION Main() RETURNS BOOLEAN
  BEGIN
    SET OutputRoot.Properties = InputRoot.Properties;
    CREATE FIELD OutputRoot.XMLNSC.All;
    SET OutputRoot.XMLNSC.All.First = InputRoot.ComIbmAggregateReplyBody.First.XMLNSC.Price;
    SET OutputRoot.XMLNSC.All.Second = InputRoot.ComIbmAggregateReplyBody.Second.XMLNSC.Price;
    RETURN TRUE;
  END;
END MODULE;
"""
"""A module that makes one message of two replies with prices."""


def write_flow(folder: Path, text: str, **files: str) -> Path:
    """A flow's folder: `text` is flow.yaml from `nodes:` on; names of files have __ for a dot and ___ for a slash."""
    head = "" if text.lstrip().startswith("flow:") else "flow: test\n"
    (folder / "flow.yaml").write_text(head + text)
    for name, content in files.items():
        file = folder / name.replace("___", "/").replace("__", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return folder


def flow_under_test(folder: Path, text: str, *, options: dict[str, Any] | None = None, **files: str) -> FlowUnderTest:
    """The flow, ready to take messages."""
    return FlowUnderTest(write_flow(folder, text, **files), **(options or {}))


def esql_module(kind: str, body: str) -> str:
    """A module of ESQL with this body."""
    return f"""CREATE {kind} MODULE Work
  CREATE FUNCTION Main() RETURNS BOOLEAN
  BEGIN
    {body}
  END;
END MODULE;
"""
