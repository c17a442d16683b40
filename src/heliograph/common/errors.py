"""What can go wrong in the common mechanisms."""

from heliograph.errors import Problem


class DirectoryInUse(Problem):
    """Another process has the lock of a directory; the text names it."""
