"""AMQP 1.0 messages: the sections of a message, and all that reads and writes them.

`sections` declares the sections and the positions of their fields. `message` reads and writes a whole message. `peek`
looks at what a broker needs to know, without decoding the rest.
"""
