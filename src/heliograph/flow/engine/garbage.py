"""Memory of messages: what the garbage collector is told before messages come."""

import gc

_MANY = 50_000


def settle() -> None:
    """To be called by a process that runs flows, when they are compiled and the first message has not come.

    Parents and children of a tree refer to each other, so the trees of a message are garbage that only the collector
    finds. It finds them in the youngest generation, as they live no longer than their message: looking more seldom
    costs a few megabytes, and what has been compiled is not looked at again and again.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_MANY, 20, 20)
