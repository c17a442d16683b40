"""Conversion: MQTT publications as AMQP messages and the other way round. `docs/mapping.md` has all of it as tables."""
