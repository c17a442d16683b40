"""The least that a Python process must do, beside the brokers."""

import select
import sys

from heliograph import __version__
from heliograph.lab.targets.target import Setup, Target


class BareLoop(Target):
    """No broker, but what one Python process must do at the least; for cases with one packet per read."""

    name = "bare-loop"
    on_request = True

    def version(self) -> str | None:
        """Epoll is what it needs."""
        return __version__ if hasattr(select, "epoll") else None

    def command(self, setup: Setup) -> list[str]:
        """It has no configuration."""
        return [sys.executable, "-m", "heliograph.lab.targets.bare_loop", str(setup.port)]
