"""What becomes of a message between MQTT, AMQP and JMS. `docs/reference/mapping.md` is the specification.

Names of annotations are in `heliograph.amqp.messages.annotations`; everything else is declared here, once.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.mapping.addresses import QUEUE_PREFIX, TOPIC_PREFIX
    from heliograph.mapping.amqp_to_mqtt import Publication, publication_of
    from heliograph.mapping.bodies import ENCODED, is_utf8
    from heliograph.mapping.delivery import is_durable
    from heliograph.mapping.identifiers import (
        Identifier,
        amqp_identifier,
        identifier_bytes,
        identifier_in,
        identifier_of,
        text_of,
    )
    from heliograph.mapping.jms import BYTES_CONTENT_TYPE, body_of, kind_and_body
    from heliograph.mapping.user_properties import (
        CONTENT_TYPE,
        FIELDS,
        MESSAGE_ID,
        PREFIX,
        PRIORITY,
        REPLY_TO,
        read_priority,
    )

__getattr__ = lazy_names(
    __name__,
    {
        "addresses": "QUEUE_PREFIX TOPIC_PREFIX",
        "amqp_to_mqtt": "Publication publication_of",
        "bodies": "ENCODED is_utf8",
        "delivery": "is_durable",
        "identifiers": "Identifier amqp_identifier identifier_bytes identifier_in identifier_of text_of",
        "jms": "BYTES_CONTENT_TYPE body_of kind_and_body",
        "user_properties": "CONTENT_TYPE FIELDS MESSAGE_ID PREFIX PRIORITY REPLY_TO read_priority",
    },
)

__all__ = [
    "BYTES_CONTENT_TYPE",
    "CONTENT_TYPE",
    "ENCODED",
    "FIELDS",
    "MESSAGE_ID",
    "PREFIX",
    "PRIORITY",
    "QUEUE_PREFIX",
    "REPLY_TO",
    "TOPIC_PREFIX",
    "Identifier",
    "Publication",
    "amqp_identifier",
    "body_of",
    "identifier_bytes",
    "identifier_in",
    "identifier_of",
    "is_durable",
    "is_utf8",
    "kind_and_body",
    "publication_of",
    "read_priority",
    "text_of",
]
