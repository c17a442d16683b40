"""Sessions of MQTT clients: subscriptions, backlog (buffer and spool), and messages in flight (window)."""
