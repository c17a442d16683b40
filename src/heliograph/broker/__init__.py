"""What happens to a message: topics, subscriptions, sessions, windows, policies. No sockets, no clock of its own."""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.broker.administration.description import figures
    from heliograph.broker.administration.sys_topics import SysTopics
    from heliograph.broker.amqp.connection import AmqpConnection
    from heliograph.broker.amqp.host import Elsewhere, Host
    from heliograph.broker.broker import Broker
    from heliograph.broker.core.authentication import Gate, Verdict
    from heliograph.broker.core.conversation import Conversation
    from heliograph.broker.core.limits import Limits
    from heliograph.broker.core.memory import Hold
    from heliograph.broker.core.names import filter_mistake, is_plain_name, plain_name_mistake
    from heliograph.broker.core.outlet import Outlet
    from heliograph.broker.core.portions import Portions
    from heliograph.broker.core.queue_definition import (
        DEAD_LETTER_QUEUE,
        TEMPORARY_MODEL,
        Kind,
        QueueDefinition,
        name_mistake,
    )
    from heliograph.broker.core.random_names import random_name
    from heliograph.broker.core.slices import SLICE, Steps
    from heliograph.broker.core.timers import Clock
    from heliograph.broker.mqtt.connection import MqttConnection
    from heliograph.broker.queues.queues import SYSTEM
    from heliograph.broker.queues.refusal import NOT_ALLOWED, NOT_FOUND, Refused
    from heliograph.broker.sessions.buffer import Buffer
    from heliograph.broker.sessions.session import ShareGroup, Subscription
    from heliograph.broker.sessions.spool import Spool
    from heliograph.broker.storage.log_contents import LogContents, UnknownKind
    from heliograph.broker.storage.queue_records import DELIVERIES_ROW
    from heliograph.broker.storage.set_aside import SetAside, SetAsides
    from heliograph.broker.storage.store import Store
    from heliograph.broker.storage.streams import StreamConflict, StreamKept, StreamOptions, TooManyStreams, options_of

__getattr__ = lazy_names(
    __name__,
    {
        "amqp.connection": "AmqpConnection",
        "amqp.host": "Elsewhere Host",
        "core.authentication": "Gate Verdict",
        "broker": "Broker",
        "core.conversation": "Conversation",
        "core.limits": "Limits",
        "core.memory": "Hold",
        "core.names": "filter_mistake is_plain_name plain_name_mistake",
        "core.outlet": "Outlet",
        "core.portions": "Portions",
        "core.random_names": "random_name",
        "storage.set_aside": "SetAside SetAsides",
        "core.slices": "SLICE Steps",
        "core.timers": "Clock",
        "storage.store": "Store",
        "storage.streams": "StreamConflict StreamKept StreamOptions TooManyStreams options_of",
        "sessions.session": "ShareGroup Subscription",
        "administration.sys_topics": "SysTopics",
        "sessions.buffer": "Buffer",
        "sessions.spool": "Spool",
        "mqtt.connection": "MqttConnection",
        "core.queue_definition": "DEAD_LETTER_QUEUE Kind QueueDefinition TEMPORARY_MODEL name_mistake",
        "administration.description": "figures",
        "storage.queue_records": "DELIVERIES_ROW",
        "queues.queues": "SYSTEM",
        "queues.refusal": "NOT_ALLOWED NOT_FOUND Refused",
        "storage.log_contents": "LogContents UnknownKind",
    },
)

__all__ = [
    "DEAD_LETTER_QUEUE",
    "DELIVERIES_ROW",
    "NOT_ALLOWED",
    "NOT_FOUND",
    "SLICE",
    "SYSTEM",
    "TEMPORARY_MODEL",
    "AmqpConnection",
    "Broker",
    "Buffer",
    "Clock",
    "Conversation",
    "Elsewhere",
    "Gate",
    "Hold",
    "Host",
    "Kind",
    "Limits",
    "LogContents",
    "MqttConnection",
    "Outlet",
    "Portions",
    "QueueDefinition",
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
    "UnknownKind",
    "Verdict",
    "figures",
    "filter_mistake",
    "is_plain_name",
    "name_mistake",
    "options_of",
    "plain_name_mistake",
    "random_name",
]
