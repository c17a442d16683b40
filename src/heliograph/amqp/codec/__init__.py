"""Values and performatives of AMQP to bytes and back: no state, no sockets, no clock.

`values` has the types that Python lacks, `encoding` and `decoding` go between values and bytes, `performatives`
declares the composite types of the standard, and `frames` has what is around them on the wire. Rooms other than this
one use what `heliograph.amqp` shows.
"""
