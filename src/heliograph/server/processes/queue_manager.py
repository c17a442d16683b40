"""One queue manager: the process that serves it, started again when it dies."""

import sys

from heliograph.server.processes.supervision import Command, State, SupervisedProcess

__all__ = ["Command", "QueueManagerProcess", "State", "serving"]


def serving(config_file: str) -> Command:
    """Serve queue managers of this configuration file with this Python and these sources."""
    return lambda name: [
        *(sys.executable, "-m", "heliograph.cli.main", "serve"),
        *("--config", config_file, "--queue-manager", name, "--supervised"),
    ]


class QueueManagerProcess(SupervisedProcess):
    """Keeps one queue manager running. It reports its addresses, queues and messages."""

    what = "queue manager"

    @property
    def addresses(self) -> list[str]:
        """Where it is, as URLs; nowhere while it does not run."""
        return list(self.report.get("addresses", ()))
