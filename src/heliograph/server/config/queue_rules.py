"""Rules for the queues and queue managers of the configuration. Each yields mistakes as `key: what is wrong`."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from heliograph.broker import DEAD_LETTER_QUEUE, TEMPORARY_MODEL, QueueKind
from heliograph.objects import value_text
from heliograph.server.config.rules import filter_mistakes, name_mistakes
from heliograph.server.config.tables import QueueConfig, QueueManagerConfig


def pattern_mistakes(patterns: Sequence[str]) -> Iterator[str]:
    """What is wrong with the names of queues that clients may have made."""
    for number, pattern in enumerate(patterns, 1):
        if not pattern or pattern.startswith("$"):
            key = f"queues.create[{number}]"
            yield f'{key}: expected the names of queues, as in "dev.*", found {value_text(pattern)}'


def queue_mistakes(
    queues: Mapping[str, QueueConfig], dead_letters: str, most_levels: int, *, all_known: bool = True
) -> Iterator[str]:
    """What is wrong with queues, by their place in the file; `all_known`: whether no other has mistakes of its own."""
    places: dict[str, str] = {}
    kinds = {DEAD_LETTER_QUEUE: QueueKind.LOCAL, dead_letters: QueueKind.LOCAL, TEMPORARY_MODEL: QueueKind.MODEL}
    for where, queue in queues.items():
        if queue.name in places:
            yield f"{where}.name: expected a name of its own, found {queue.name}, as in {places[queue.name]}"
        places.setdefault(queue.name, where)
        kinds[queue.name] = queue.kind
    for where, queue in queues.items():
        mistakes = list(_own_mistakes(queue, where))
        yield from mistakes
        if not mistakes and all_known:
            yield from _other_mistakes(queue, where, kinds)
        for number, topic_filter in enumerate(queue.topics, 1):
            yield from filter_mistakes(topic_filter, f"{where}.topics[{number}]", most_levels)


def _own_mistakes(queue: QueueConfig, where: str) -> Iterator[str]:
    if queue.kind is not QueueKind.LOCAL and queue.topics:
        yield f"{where}.topics: expected none, because only a local queue has messages, and this is {_article(queue)}"
    if queue.kind is QueueKind.LOCAL and queue.temporary:
        yield f"{where}.temporary: expected false, because a queue of the configuration stays, found true"
    if queue.name.startswith("$"):
        yield f'{where}.name: expected a name that does not begin with "$", found {value_text(queue.name)}'


def _article(queue: QueueConfig) -> str:
    return "an alias" if queue.kind is QueueKind.ALIAS else "a model"


def _other_mistakes(queue: QueueConfig, where: str, kinds: Mapping[str, QueueKind]) -> Iterator[str]:
    """What is wrong with the queues that a queue names."""
    for key in ("target", "backout_queue", "dead_letter_queue"):
        name = getattr(queue, key)
        if not name:
            continue
        kind = kinds.get(name)
        if kind is None:
            yield f"{where}.{key}: expected the name of a queue in this file, found {value_text(name)}"
        elif kind is not QueueKind.LOCAL:
            yield f"{where}.{key}: expected the name of a local queue, found {value_text(name)}, of kind {kind}"


def manager_mistakes(managers: Mapping[str, QueueManagerConfig], main_directory: str) -> Iterator[str]:
    """What is wrong with queue managers, their listeners and queues aside."""
    names: dict[str, str] = {}
    folders = {str(Path(main_directory)): "storage"} if main_directory else {}
    for where, manager in managers.items():
        if mistakes := list(name_mistakes(manager.name, f"{where}.name")):
            yield from mistakes
        elif manager.name in names:
            yield f"{where}.name: expected a name of its own, found {manager.name}, as in {names[manager.name]}"
        else:
            names[manager.name] = where
            folder = str(Path(manager.directory))
            if folder in folders:
                yield f"{where}.directory: expected a folder of its own, found {folder}, as in {folders[folder]}"
            folders.setdefault(folder, where)
