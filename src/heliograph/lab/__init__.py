"""The load generator, and what measures any MQTT or AMQP broker with it, over the wire."""
