"""Garbage collection in a process that runs flows.

Messages leave few cycles behind, but a batch keeps many objects alive for a moment. With Python's usual thresholds the
collector would look at all of them, and at all that the program consists of, again and again, and find nothing.
"""

import gc

_NEW, _YOUNG, _OLD = 50_000, 20, 50


def collect_seldom() -> None:
    """Call this when a flow is ready: what is there now stays, and what comes is looked at in large portions."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_NEW, _YOUNG, _OLD)
