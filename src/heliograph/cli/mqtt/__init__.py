"""`helio pub` and `helio sub`: a small MQTT client for any server."""
