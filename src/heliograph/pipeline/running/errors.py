"""From what Spark throws to what a person needs to read."""

import re

_OURS = re.compile(r"heliograph\.[\w.]+: (.*(?:\n(?!\s|Traceback|Caused by|\tat ).+)*)")
_SPARK = re.compile(r"^\[[A-Z_.0-9]+\] .*", re.MULTILINE)
_STACK = "Traceback (most recent call last):"
_PYTHONS = re.compile(r"^[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt)\b.*", re.MULTILINE)
_LONGEST = 2000


def sentence(error: BaseException | str) -> str:
    """What went wrong: our own sentence if there is one somewhere in Spark's, else its first line that says something.

    An error inside of a worker comes as a Java stack with a Python stack in it; the last of ours in it is the cause.
    """
    text = str(error).strip()
    if ours := _OURS.findall(text):
        return str(ours[-1]).strip()[:_LONGEST]
    if found := _SPARK.search(text):
        line = found[0]
        # The first one is the cause: what follows happened while it was handled.
        if line.endswith(_STACK) and (cause := _PYTHONS.search(text, found.end())):
            line = line.removesuffix(_STACK) + cause[0]
        return line[:_LONGEST]
    first = text.partition("\n")[0]
    if isinstance(error, str):
        return first[:_LONGEST]
    return (f"{type(error).__name__}: {first}" if first else type(error).__name__)[:_LONGEST]


def is_sparks(error: BaseException) -> bool:
    """Whether Spark, or the way to it, says this: not a mistake of ours, whose stack would be of use."""
    return type(error).__module__.startswith(("pyspark.", "py4j."))
