"""Maps messages between MQTT, AMQP and JMS. `docs/reference/mapping.md` is the specification.

Begin with `publication_of` (an AMQP message for MQTT subscribers) and `messages_of` (MQTT publications as AMQP
messages). Both are called for runs of messages and cache the parts that are equal in all of a run. `bodies`,
`identifiers`, `delivery` and `user_properties` have the rules for single fields, which the client, flows and pipelines
use, too.

A message that cannot be mapped raises `amqp.DecodeError` or `amqp.InvalidField`; this package has no exceptions of its
own. The names of annotations are in `heliograph.amqp.messages`. The names here are imported when they are first used,
because pipeline workers need few of them.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.mapping.amqp_to_mqtt import Publication, publication_of
    from heliograph.mapping.bodies import (
        BYTES_CONTENT_TYPE,
        ENCODED_CONTENT_TYPE,
        is_utf8,
        kind_and_body_of,
        value_of_body,
    )
    from heliograph.mapping.delivery import QUEUE_PREFIX, TOPIC_PREFIX, is_durable
    from heliograph.mapping.identifiers import (
        Identifier,
        identifier_from_correlation_data,
        identifier_from_envelope,
        identifier_from_text,
        identifier_to_envelope,
        identifier_to_text,
    )
    from heliograph.mapping.mqtt_to_amqp import messages_of
    from heliograph.mapping.user_properties import (
        AMQP_FIELD_PREFIX,
        CONTENT_TYPE_PROPERTY,
        FIELD_READERS,
        MESSAGE_ID_PROPERTY,
        PRIORITY_PROPERTY,
        REPLY_TO_PROPERTY,
        USER_ID_PROPERTY,
        field_name,
        read_priority,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "amqp_to_mqtt": "Publication publication_of",
        "bodies": "BYTES_CONTENT_TYPE ENCODED_CONTENT_TYPE is_utf8 kind_and_body_of value_of_body",
        "delivery": "QUEUE_PREFIX TOPIC_PREFIX is_durable",
        "identifiers": (
            "Identifier identifier_from_correlation_data identifier_from_envelope "
            "identifier_from_text identifier_to_envelope identifier_to_text"
        ),
        "mqtt_to_amqp": "messages_of",
        "user_properties": (
            "AMQP_FIELD_PREFIX CONTENT_TYPE_PROPERTY FIELD_READERS MESSAGE_ID_PROPERTY "
            "PRIORITY_PROPERTY REPLY_TO_PROPERTY USER_ID_PROPERTY field_name read_priority"
        ),
    },
)

__all__ = [
    "AMQP_FIELD_PREFIX",
    "BYTES_CONTENT_TYPE",
    "CONTENT_TYPE_PROPERTY",
    "ENCODED_CONTENT_TYPE",
    "FIELD_READERS",
    "MESSAGE_ID_PROPERTY",
    "PRIORITY_PROPERTY",
    "QUEUE_PREFIX",
    "REPLY_TO_PROPERTY",
    "TOPIC_PREFIX",
    "USER_ID_PROPERTY",
    "Identifier",
    "Publication",
    "field_name",
    "identifier_from_correlation_data",
    "identifier_from_envelope",
    "identifier_from_text",
    "identifier_to_envelope",
    "identifier_to_text",
    "is_durable",
    "is_utf8",
    "kind_and_body_of",
    "messages_of",
    "publication_of",
    "read_priority",
    "value_of_body",
]
