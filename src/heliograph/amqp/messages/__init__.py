"""AMQP 1.0 messages (part 3 of the standard): their sections, and functions that read, build and change them.

`Message` with `encode_message` and `decode_message` handles a whole message, for programs that build or read one at a
time. The other modules work on bytes and decode as little of them as possible:

- `peek`, `peek_run`, `address_at`, `with_header`, ...: what a broker must read and change in every message;
- `read_header`, `read_properties`, ..., `find_section`: single sections, for selectors and the mapping to MQTT;
- `read_message`, and `header_section`, `property_fields`, ...: messages of JMS clients, read and made by our client;
- `encoded` and `MessageTemplate`: programs that move many messages.

Namespaces: `sections` has descriptors and positions of fields, `jms_kinds` the numbers that JMS clients have for kinds.
"""

from heliograph.amqp.messages import encoded, jms_kinds, sections
from heliograph.amqp.messages.annotations import (
    DEAD_LETTER_COUNT,
    DEAD_LETTER_EXCEPTIONS,
    DEAD_LETTER_NODE,
    DEAD_LETTER_QUEUE,
    DEAD_LETTER_REASON,
    DEAD_LETTER_TIME,
    DELIVERY_DELAY,
    DELIVERY_TIME,
    JMS_DESTINATION_KIND,
    JMS_MESSAGE_KIND,
    JMS_PREFIX,
    JMS_REPLY_KIND,
    MQTT_PROPERTIES,
    MQTT_RETAIN,
    with_annotations,
    without_annotations,
)
from heliograph.amqp.messages.message import (
    Data,
    Message,
    Sequence,
    Value,
    decode_message,
    encode_message,
    transaction_request,
)
from heliograph.amqp.messages.message_peek import (
    Peeked,
    address_at,
    peek,
    peek_run,
    with_durable_and_priority,
    with_header,
)
from heliograph.amqp.messages.message_reading import read_message
from heliograph.amqp.messages.section_reading import (
    BODY_SECTION,
    ENTRY_CHECK_FROM,
    UNREADABLE,
    find_section,
    read_application_properties,
    read_header,
    read_message_annotations,
    read_properties,
    read_value,
    too_many_entries,
)
from heliograph.amqp.messages.section_writing import (
    annotations_section,
    group_fields,
    header_section,
    kinds_section,
    properties_section,
    property_fields,
    text_field,
)
from heliograph.amqp.messages.sections import (
    ABSOLUTE_EXPIRY_TIME,
    APPLICATION_PROPERTIES_START,
    CONTENT_TYPE,
    CORRELATION_ID,
    CREATION_TIME,
    DELIVERY_COUNT,
    HEADER_DEFAULTS,
    PROPERTY_NAMES,
    REPLY_TO,
    TO,
    TTL,
    USER_ID,
)
from heliograph.amqp.messages.template import MessageTemplate

__all__ = [
    "ABSOLUTE_EXPIRY_TIME",
    "APPLICATION_PROPERTIES_START",
    "BODY_SECTION",
    "CONTENT_TYPE",
    "CORRELATION_ID",
    "CREATION_TIME",
    "DEAD_LETTER_COUNT",
    "DEAD_LETTER_EXCEPTIONS",
    "DEAD_LETTER_NODE",
    "DEAD_LETTER_QUEUE",
    "DEAD_LETTER_REASON",
    "DEAD_LETTER_TIME",
    "DELIVERY_COUNT",
    "DELIVERY_DELAY",
    "DELIVERY_TIME",
    "ENTRY_CHECK_FROM",
    "HEADER_DEFAULTS",
    "JMS_DESTINATION_KIND",
    "JMS_MESSAGE_KIND",
    "JMS_PREFIX",
    "JMS_REPLY_KIND",
    "MQTT_PROPERTIES",
    "MQTT_RETAIN",
    "PROPERTY_NAMES",
    "REPLY_TO",
    "TO",
    "TTL",
    "UNREADABLE",
    "USER_ID",
    "Data",
    "Message",
    "MessageTemplate",
    "Peeked",
    "Sequence",
    "Value",
    "address_at",
    "annotations_section",
    "decode_message",
    "encode_message",
    "encoded",
    "find_section",
    "group_fields",
    "header_section",
    "jms_kinds",
    "kinds_section",
    "peek",
    "peek_run",
    "properties_section",
    "property_fields",
    "read_application_properties",
    "read_header",
    "read_message",
    "read_message_annotations",
    "read_properties",
    "read_value",
    "sections",
    "text_field",
    "too_many_entries",
    "transaction_request",
    "with_annotations",
    "with_durable_and_priority",
    "with_header",
    "without_annotations",
]
