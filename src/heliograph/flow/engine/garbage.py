"""Garbage collection in a process that runs flows.

The tree of a message is a cycle: only the collector finds it when the message is done. It looks as soon as a few dozen
messages may have left theirs, while they are still in the processor's cache; looking for all of a batch at once takes
several times as long. What the program consists of, and what a batch keeps alive for a moment, it looks at seldom.
"""

import gc

_NEW, _YOUNG, _OLD = 1_000, 20, 50


def collect_seldom() -> None:
    """Call this when a flow is ready: what is there now stays, and what comes and stays is looked at seldom."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW, _YOUNG, _OLD)
