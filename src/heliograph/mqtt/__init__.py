"""Wire codec for MQTT 3.1, 3.1.1 and 5: bytes in, packets out, and back. No sockets, no broker."""
