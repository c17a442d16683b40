"""`readStream.format("mqtt")`: messages of any MQTT broker, by way of a durable spool.

A broker of others has no log that can be read again. So messages are written to *segments*, files in a directory of the
query, before they are acknowledged; Spark reads segments, as often as it has to, and they are deleted when it has
committed what it made of them. `inbox` understands what a broker sends, `segments` are the files, `receiver` is the
thread between both, and `reading` is what Spark calls.
"""
