"""What becomes of a message between MQTT, AMQP and JMS. `docs/mapping.md` is the specification.

Names of annotations are in `heliograph.amqp.messages.annotations`; everything else is declared here, once.
"""
