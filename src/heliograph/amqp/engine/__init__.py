"""The protocol engine: connections, sessions and links as state that bytes go in and out of; either role.

From the bottom up; a module knows only those before it, and says with a `Protocol` what it uses of those above:

- `options`, `handshake`: what each side says of itself, protocol headers and SASL;
- `output`: where sessions and links leave frames for the peer and events for the owner;
- `settlement`, `outgoing`: deliveries that are not settled, outcomes to be written, transfers to be written;
- `link`, `sender`, `receiver`: links;
- `session`: windows, numbers and handles; it hands frames to links;
- `incoming_runs`: frames that look like one before, taken without being decoded;
- `connection`: reads frames, and hands them to sessions.

A frame on its way in is handled by `Connection.receive` down to the link in one call, which adds events to a list that
`receive` returns. Events stand beside what reports them. A call of the owner writes frames to `ConnectionOutput.output`
before it returns, apart from dispositions, which wait for `flush`.
"""
