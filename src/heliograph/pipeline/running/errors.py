"""From what Spark throws to what a person needs to read."""

import re

_OURS = re.compile(r"heliograph\.[\w.]+: (.*(?:\n(?!\s|Traceback|Caused by|\tat ).+)*)")
_SPARK = re.compile(r"^\[[A-Z_.0-9]+\] .*", re.MULTILINE)
_LONGEST = 2000


def sentence(error: BaseException | str) -> str:
    """What went wrong: our own sentence if there is one somewhere in Spark's, else its first line that says something.

    An error inside of a worker comes as a Java stack with a Python stack in it; the last of ours in it is the cause.
    """
    text = str(error).strip()
    if ours := _OURS.findall(text):
        return str(ours[-1]).strip()[:_LONGEST]
    if found := _SPARK.search(text):
        return found[0][:_LONGEST]
    first = text.partition("\n")[0]
    if isinstance(error, str):
        return first[:_LONGEST]
    return (f"{type(error).__name__}: {first}" if first else type(error).__name__)[:_LONGEST]
