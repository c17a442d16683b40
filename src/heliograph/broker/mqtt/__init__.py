"""The server's end of an MQTT connection: handshake, publishing, subscribing, acknowledgements."""
