"""The numbers that JMS clients have for kinds of messages and destinations, as annotations carry them."""

MESSAGE, OBJECT, MAP, BYTES, STREAM, TEXT = range(6)
"""Of messages."""
QUEUE, TOPIC, TEMPORARY_QUEUE, TEMPORARY_TOPIC = range(4)
"""Of destinations."""
