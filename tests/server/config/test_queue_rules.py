"""What a configuration file may say about queues and queue managers, and what is said about its mistakes."""

from pathlib import Path

import pytest

from heliograph.broker.core.queue_definition import Order, QueueDefinition, QueueKind
from heliograph.errors import Problem
from heliograph.server.config.loading import queue_manager_config, restart_needed
from heliograph.server.config.schema import ListenerProtocol
from server.config.checked_files import loaded, mistakes


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "heliograph.toml"


# -- queues -----------------------------------------------------------------------------------------------------------


def test_a_queue_needs_a_name_only(file: Path) -> None:
    (queue,) = loaded(file, '[[queue]]\nname = "orders"').declared_queues
    assert queue.definition == QueueDefinition("orders")


def test_every_attribute_of_a_queue_can_be_configured(file: Path) -> None:
    (queue, _) = loaded(
        file,
        """
        [[queue]]
        name = "orders"
        description = "what customers want"
        topics = ["shop/+/order", "orders/#"]
        max_depth = 7
        max_message_length = 100
        put_enabled = false
        get_enabled = false
        default_persistence = true
        default_priority = 4
        order = "fifo"
        max_ttl = 1.5
        backout_threshold = 3
        backout_queue = "failed"
        dead_letter_queue = "failed"
        exclusive = true
        [[queue]]
        name = "failed"
        """,
    ).declared_queues
    assert queue.topics == ("shop/+/order", "orders/#")
    assert queue.definition == QueueDefinition(
        "orders",
        QueueKind.LOCAL,
        "what customers want",
        max_depth=7,
        max_message_length=100,
        put_enabled=False,
        get_enabled=False,
        default_persistence=True,
        default_priority=4,
        order=Order.FIFO,
        max_ttl=1.5,
        backout_threshold=3,
        backout_queue="failed",
        dead_letter_queue="failed",
        exclusive=True,
    )


def test_an_alias_stands_for_a_queue_and_a_model_for_queues_to_come(file: Path) -> None:
    queues = loaded(
        file,
        """
        [[queue]]
        name = "a"
        [[queue]]
        name = "b"
        kind = "alias"
        target = "a"
        [[queue]]
        name = "c"
        kind = "model"
        temporary = true
        """,
    ).declared_queues
    assert [queue.definition.kind for queue in queues] == [QueueKind.LOCAL, QueueKind.ALIAS, QueueKind.MODEL]


@pytest.mark.parametrize(
    ("keys", "mistake"),
    [
        ('name = ""', 'queue[1].name: expected a queue name of 1 to 255 letters, digits and . _ / % -, found ""'),
        ('name = "a b"', 'queue[1].name: expected a queue name of 1 to 255 letters, digits and . _ / % -, found "a b"'),
        ('name = "$own"', 'queue[1].name: expected a name that does not begin with "$", found "$own"'),
        ('name = "a"\nkind = "remote"', 'queue[1].kind: expected one of "local", "alias", "model", found "remote"'),
        ('name = "a"\nmax_depth = 0', "queue[1].max_depth: expected an integer from 1 to 999999999, found 0"),
        ('name = "a"\ndefault_priority = 10', "queue[1].default_priority: expected an integer from 0 to 9, found 10"),
        ('name = "a"\nkind = "alias"', "queue[1].target: expected the name of a queue, which an alias needs, found"),
        ('name = "a"\ntarget = "b"', 'queue[1].target: expected none for a local queue, found "b"'),
        (
            'name = "a"\nkind = "alias"\ntarget = "b"',
            "queue[1].target: expected the name of a queue in this file, found",
        ),
        ('name = "a"\nbackout_queue = "b"', "queue[1].backout_queue: expected the name of a queue in this file"),
        ('name = "a"\nbackout_queue = "a"', "queue[1].backout_queue: expected another queue, found the queue itself"),
        ('name = "a"\ntemporary = true', "queue[1].temporary: expected false, because a queue of the configuration"),
        ('name = "a"\ntopics = "b"', 'queue[1].topics: expected an array of strings, found "b"'),
        ('name = "a"\ntopics = [1]', "queue[1].topics: expected an array of strings, found an array"),
        ('name = "a"\ntopics = ["b", "c#"]', "queue[1].topics[2]: expected a topic filter"),
        ('name = "a"\ntopics = ["$share/g/b"]', "queue[1].topics[1]: expected a topic filter that is not shared"),
        (
            'name = "a"\nkind = "model"\ntopics = ["b"]',
            "queue[1].topics: expected none, because only a local queue has",
        ),
        ('name = "a"\n[[queue]]\nname = "a"', "queue[2].name: expected a name of its own, found a, as in queue[1]"),
        (
            'name = "a"\nbackout_queue = "b"\n[[queue]]\nname = "b"\nkind = "model"',
            'queue[1].backout_queue: expected the name of a local queue, found "b", of kind model',
        ),
        ('name = "a"\nmaxdepth = 3', "queue[1].maxdepth: unknown key; did you mean max_depth?"),
    ],
)
def test_what_cannot_be_a_queue_is_refused(file: Path, keys: str, mistake: str) -> None:
    (found,) = mistakes(file, f"[[queue]]\n{keys}")
    assert found.startswith(mistake)


def test_the_dead_letter_queue_of_all_can_be_named_by_queues(file: Path) -> None:
    config = loaded(file, '[queues]\ndead_letter_queue = "DLQ"\n[[queue]]\nname = "a"\nbackout_queue = "DLQ"')
    assert config.queues.dead_letter_queue == "DLQ"


def test_a_dead_letter_queue_that_no_queue_can_be_is_refused(file: Path) -> None:
    (found,) = mistakes(file, '[queues]\ndead_letter_queue = "a b"')
    assert found.startswith("queues.dead_letter_queue: expected a queue name")


def test_changed_queues_need_no_restart_but_another_dead_letter_queue_does(file: Path) -> None:
    old = loaded(file, '[[queue]]\nname = "a"')
    assert restart_needed(old, loaded(file, '[[queue]]\nname = "b"')) == []
    assert restart_needed(old, loaded(file, '[queues]\ndead_letter_queue = "b"')) == ["queues.dead_letter_queue"]
    assert restart_needed(old, loaded(file, '[queues]\ncreate = ["dev.*"]')) == []


# -- queue managers ---------------------------------------------------------------------------------------------------

TWO = """
[access]
[limits]
connections = 7
[storage]
directory = "data"
durability = "memory"
[[stream]]
name = "s"
filter = "s"
[[queue]]
name = "main"
[[queue_manager]]
name = "QM1"
[[queue_manager.listener]]
protocol = "amqp"
port = 5700
[[queue_manager.queue]]
name = "a"
max_depth = 3
[queue_manager.http]
port = 8090
[[queue_manager]]
name = "QM2"
directory = "elsewhere"
"""


def test_a_queue_manager_has_its_own_folder_listeners_queues_and_pages(file: Path) -> None:
    whole = loaded(file, TWO)
    config = queue_manager_config(whole, "QM1")
    assert config.server.name == "QM1"
    assert config.storage.directory == f"{file.parent}/data-QM1"
    assert [(listener.protocol, listener.port) for listener in config.listeners] == [(ListenerProtocol.AMQP, 5700)]
    assert [(queue.name, queue.max_depth) for queue in config.declared_queues] == [("a", 3)]
    assert (config.http.enabled, config.http.port) == (True, 8090)
    assert config.streams == config.queue_managers == ()


def test_a_queue_manager_has_the_rest_from_the_whole_file(file: Path) -> None:
    whole = loaded(file, TWO)
    config = queue_manager_config(whole, "QM1")
    assert (config.limits, config.storage.durability) == (whole.limits, whole.storage.durability)
    assert config.source == file


def test_a_queue_manager_without_tables_speaks_amqp_on_a_free_port_and_has_no_pages(file: Path) -> None:
    config = queue_manager_config(loaded(file, TWO), "QM2")
    (listener,) = config.listeners
    assert (listener.protocol, listener.host, listener.port) == (ListenerProtocol.AMQP, "127.0.0.1", 0)
    assert not config.http.enabled
    assert config.storage.directory == str(file.parent / "elsewhere")


def test_an_unknown_queue_manager_is_a_mistake(file: Path) -> None:
    with pytest.raises(Problem, match=r"\(QM1, QM2 in the configuration\), found X"):
        queue_manager_config(loaded(file, TWO), "X")


@pytest.mark.parametrize(
    ("keys", "mistake"),
    [
        ("", "queue_manager[1].name: expected letters, digits,"),
        ('name = "a/b"', 'queue_manager[1].name: expected letters, digits, "-", "_" and "."'),
        ('name = "a"\n[[queue_manager]]\nname = "a"', "queue_manager[2].name: expected a name of its own, found a"),
        ('name = "a"\ndirectory = "heliograph-data"', "queue_manager[1].directory: expected a folder of its own"),
        ('name = "a"\n[[queue_manager.queue]]\nname = ""', "queue_manager[1].queue[1].name: expected a queue name"),
        (
            'name = "a"\n[[queue_manager.listener]]\nport = 1883',
            "queue_manager[1].listener[1].port: expected an address of its own, found 127.0.0.1:1883, which listener",
        ),
        (
            'name = "a"\n[[queue_manager.listener]]\nkind = "tls"',
            "queue_manager[1].listener[1].cert: expected the path of a file, which a tls listener needs",
        ),
        (
            'name = "a"\n[queue_manager.http]\nport = 15880',
            "queue_manager[1].http.port: expected an address of its own, found 127.0.0.1:15880, which http takes",
        ),
        ('name = "a"\nlisteners = 3', "queue_manager[1].listeners: unknown key; did you mean listener?"),
    ],
)
def test_what_cannot_be_a_queue_manager_is_refused(file: Path, keys: str, mistake: str) -> None:
    assert mistakes(file, f"[[queue_manager]]\n{keys}")[0].startswith(mistake)


def test_more_queue_managers_need_a_restart(file: Path) -> None:
    old = loaded(file, "")
    assert restart_needed(old, loaded(file, '[[queue_manager]]\nname = "a"')) == ["queue_manager"]
