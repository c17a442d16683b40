"""What becomes of a message between MQTT, AMQP and JMS. `docs/reference/mapping.md` is the specification.

Names of annotations are in `heliograph.amqp.messages.annotations`; everything else is declared here, once.
"""

from typing import TYPE_CHECKING

from heliograph.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from heliograph.mapping.addresses import QUEUE_PREFIX, TOPIC_PREFIX
    from heliograph.mapping.amqp_to_mqtt import Publication, publication_of
    from heliograph.mapping.bodies import ENCODED_CONTENT_TYPE, is_utf8
    from heliograph.mapping.delivery import is_durable
    from heliograph.mapping.identifiers import (
        Identifier,
        identifier_from_correlation_data,
        identifier_from_envelope,
        identifier_from_text,
        identifier_to_envelope,
        identifier_to_text,
    )
    from heliograph.mapping.jms import BYTES_CONTENT_TYPE, kind_and_body_of, value_of_body
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
        "bodies": "ENCODED_CONTENT_TYPE is_utf8",
        "delivery": "is_durable",
        "identifiers": "Identifier identifier_from_envelope identifier_to_envelope identifier_from_correlation_data identifier_from_text identifier_to_text",
        "jms": "BYTES_CONTENT_TYPE value_of_body kind_and_body_of",
        "user_properties": "CONTENT_TYPE FIELDS MESSAGE_ID PREFIX PRIORITY REPLY_TO read_priority",
    },
)

__all__ = [
    "BYTES_CONTENT_TYPE",
    "CONTENT_TYPE",
    "ENCODED_CONTENT_TYPE",
    "FIELDS",
    "MESSAGE_ID",
    "PREFIX",
    "PRIORITY",
    "QUEUE_PREFIX",
    "REPLY_TO",
    "TOPIC_PREFIX",
    "Identifier",
    "Publication",
    "identifier_from_correlation_data",
    "identifier_from_envelope",
    "identifier_from_text",
    "identifier_to_envelope",
    "identifier_to_text",
    "is_durable",
    "is_utf8",
    "kind_and_body_of",
    "publication_of",
    "read_priority",
    "value_of_body",
]
