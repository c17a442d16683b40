"""How messages get to MQTT subscriptions: from memory, or from the log."""
