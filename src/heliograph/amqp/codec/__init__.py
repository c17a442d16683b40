"""Encodes and decodes AMQP 1.0 values, performatives and frames: no state, no sockets, no clock.

`values` has the types that Python lacks, `encoding` and `decoding` convert between values and bytes (part 1 of the
standard, "Types"), `performatives` declares the composite types (parts 2 to 5), and `frames` has the framing around
them (part 2, section 2.3). Other packages import from `heliograph.amqp`.
"""
