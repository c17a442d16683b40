"""A management node for tests of MQSC: remembers what it was asked, and answers from a dictionary of queues."""

from typing import Any

from heliograph.errors import Problem

DEFAULTS: dict[str, Any] = {
    "description": "",
    "max_depth": 5000,
    "max_message_length": 4 << 20,
    "put_enabled": True,
    "get_enabled": True,
    "default_persistence": False,
    "default_priority": 0,
    "order": "priority",
    "max_ttl": 0,
    "backout_threshold": 0,
    "backout_queue": "",
    "dead_letter_queue": "",
    "exclusive": False,
    "target": "",
    "temporary": False,
    "depth": 0,
    "in_flight": 0,
    "consumers": 0,
    "oldest_age": 0,
}


def queue(name: str, kind: str = "local", **attributes: Any) -> dict[str, Any]:
    """A queue as the management node shows it."""
    return {"name": name, "kind": kind, **DEFAULTS, **attributes}


class ScriptedManagement:
    """Knows some queues; every request is noted."""

    def __init__(self, *queues: dict[str, Any]) -> None:
        self.queues = {one["name"]: one for one in queues}
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def ask(self, operation: str, arguments: dict[str, Any]) -> Any:
        self.asked.append((operation, arguments))
        name = arguments.get("name", "")
        match operation:
            case "queue-list":
                return [one for one in self.queues.values() if self._meant(one, arguments)]
            case "queue-define":
                return {"replaced": name in self.queues}
            case "queue-purge":
                return {"purged": 3}
            case "subscription-define":
                return {"replaced": False}
            case "subscription-delete":
                return {}
            case "qm-alter":
                return arguments
            case "qm-show":
                return {"name": "main", "dead_letter_queue": "DLQ", "version": "1", "queues": 2, "depth": 5}
        if name not in self.queues:
            raise Problem(f"there is no queue {name}")
        return {}

    @staticmethod
    def _meant(one: dict[str, Any], arguments: dict[str, Any]) -> bool:
        pattern = arguments["pattern"]
        named = one["name"].startswith(pattern[:-1]) if pattern.endswith("*") else one["name"] == pattern
        return named and arguments.get("kind", one["kind"]) == one["kind"]

    def changes(self) -> list[tuple[str, dict[str, Any]]]:
        """The requests that would change something."""
        return [one for one in self.asked if one[0] not in {"queue-list", "qm-show"}]
