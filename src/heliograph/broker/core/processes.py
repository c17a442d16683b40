"""What operators ask of the processes beside a broker. The server has them; a broker alone has none."""

from typing import Any, Protocol


class QueueManagers(Protocol):
    """The server as a process, and the queue managers that it runs beside itself."""

    def own(self) -> dict[str, Any]:
        """How the server itself is doing."""

    def list(self) -> list[dict[str, Any]]:
        """How each is doing, the server itself first."""

    def start_one(self, name: str) -> None:
        """Start a queue manager; Refused if that cannot be."""

    def stop_one(self, name: str) -> None:
        """Stop a queue manager; Refused if that cannot be."""


class Pipelines(Protocol):
    """The pipelines that the server runs beside itself."""

    def list(self) -> list[dict[str, Any]]:
        """How each is doing."""

    def start_one(self, name: str) -> None:
        """Start a pipeline; Refused if that cannot be."""

    def stop_one(self, name: str) -> None:
        """Stop a pipeline; Refused if that cannot be."""

    def remove_one(self, name: str, *, purge: bool) -> dict[str, Any]:
        """Forget a pipeline; what stays of it. Refused if that cannot be."""
