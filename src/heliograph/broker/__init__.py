"""What happens to a message: topics, subscriptions, sessions, queues, streams. No sockets, no processes, no clock.

Begin with `Broker`: one topic space, and all who use it. `MqttConnection` and `AmqpConnection` are conversations with
one client each: bytes go in by `receive`, and what is to be sent piles up in an `Outlet`. A turn (`storage/turn.py`) is
one round of the server; when it ends, what clients have sent has its effects, and what they are told is held back
until it is safe in the log. With a `Store` a broker takes up where the last one left off.

The folders are layers, each of which knows only those below it:

    amqp, mqtt       conversations with clients
    administration   what operators see and change
    broker           puts all together; session_recovery brings it back after a restart
    delivery         how messages get to MQTT subscriptions
    routing          who gets the messages of a topic
    queues           where messages wait until somebody gets them
    storage          what is durable, when it is written, and when it is safe
    sessions         what is known of MQTT clients
    core             what all of it stands on

Names are imported when they are asked for: a command that needs the attributes of a queue does not load the broker.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.broker.administration.management import figures_of_queue
    from heliograph.broker.administration.sys_topics import SysTopics
    from heliograph.broker.amqp.connection import AmqpConnection
    from heliograph.broker.amqp.host import AmqpHost, Elsewhere
    from heliograph.broker.broker import Broker
    from heliograph.broker.core.interfaces import Authenticator, Conversation, Verdict
    from heliograph.broker.core.limits import Limits
    from heliograph.broker.core.memory import Hold
    from heliograph.broker.core.names import filter_mistake, is_plain_name, plain_name_mistake, random_name
    from heliograph.broker.core.outlet import Outlet
    from heliograph.broker.core.queue_definition import (
        DEAD_LETTER_QUEUE,
        TEMPORARY_MODEL,
        QueueDefinition,
        QueueKind,
        queue_name_mistake,
    )
    from heliograph.broker.core.slices import SLICE, Portions, Steps
    from heliograph.broker.core.timers import Clock
    from heliograph.broker.errors import (
        BrokerError,
        Refused,
        StreamConflict,
        StreamKept,
        TooManyStreams,
        UnknownRecordKind,
    )
    from heliograph.broker.mqtt.connection import MqttConnection
    from heliograph.broker.queues.queues import SYSTEM_QUEUES
    from heliograph.broker.queues.refusal import NOT_ALLOWED, NOT_FOUND
    from heliograph.broker.sessions.buffer import Buffer
    from heliograph.broker.sessions.session import ShareGroup, Subscription
    from heliograph.broker.sessions.spool import Spool
    from heliograph.broker.storage import offline_sessions, record_kinds
    from heliograph.broker.storage.log_contents import LogContents
    from heliograph.broker.storage.queue_records import DELIVERIES_ROW
    from heliograph.broker.storage.set_aside import SetAside, SetAsides
    from heliograph.broker.storage.store import Store
    from heliograph.broker.storage.streams import StreamOptions, stream_options_of

__getattr__ = lazy_names(
    __name__,
    {
        "administration.management": "figures_of_queue",
        "administration.sys_topics": "SysTopics",
        "amqp.connection": "AmqpConnection",
        "amqp.host": "Elsewhere AmqpHost",
        "broker": "Broker",
        "core.interfaces": "Conversation Authenticator Verdict",
        "core.limits": "Limits",
        "core.memory": "Hold",
        "core.names": "filter_mistake is_plain_name plain_name_mistake random_name",
        "core.outlet": "Outlet",
        "core.queue_definition": "DEAD_LETTER_QUEUE TEMPORARY_MODEL QueueKind QueueDefinition queue_name_mistake",
        "core.slices": "SLICE Portions Steps",
        "core.timers": "Clock",
        "mqtt.connection": "MqttConnection",
        "queues.queues": "SYSTEM_QUEUES",
        "errors": "BrokerError Refused StreamConflict StreamKept TooManyStreams UnknownRecordKind",
        "queues.refusal": "NOT_ALLOWED NOT_FOUND",
        "sessions.buffer": "Buffer",
        "sessions.session": "ShareGroup Subscription",
        "sessions.spool": "Spool",
        "storage.log_contents": "LogContents",
        "storage.offline_sessions": "offline_sessions",
        "storage.queue_records": "DELIVERIES_ROW",
        "storage.record_kinds": "record_kinds",
        "storage.set_aside": "SetAside SetAsides",
        "storage.store": "Store",
        "storage.streams": "StreamOptions stream_options_of",
    },
)

__all__ = [
    "DEAD_LETTER_QUEUE",
    "DELIVERIES_ROW",
    "NOT_ALLOWED",
    "NOT_FOUND",
    "SLICE",
    "SYSTEM_QUEUES",
    "TEMPORARY_MODEL",
    "AmqpConnection",
    "AmqpHost",
    "Authenticator",
    "Broker",
    "BrokerError",
    "Buffer",
    "Clock",
    "Conversation",
    "Elsewhere",
    "Hold",
    "Limits",
    "LogContents",
    "MqttConnection",
    "Outlet",
    "Portions",
    "QueueDefinition",
    "QueueKind",
    "Refused",
    "SetAside",
    "SetAsides",
    "ShareGroup",
    "Spool",
    "Steps",
    "Store",
    "StreamConflict",
    "StreamKept",
    "StreamOptions",
    "Subscription",
    "SysTopics",
    "TooManyStreams",
    "UnknownRecordKind",
    "Verdict",
    "figures_of_queue",
    "filter_mistake",
    "is_plain_name",
    "offline_sessions",
    "plain_name_mistake",
    "queue_name_mistake",
    "random_name",
    "record_kinds",
    "stream_options_of",
]
