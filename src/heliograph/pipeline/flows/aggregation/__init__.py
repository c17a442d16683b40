"""Aggregation on Spark: flows that ask several and collect their replies.

Everything about an aggregation goes through one topic of the server, and so through one stream, in one order:

1. `flows/aggregation_requests`: requests that a flow has sent are published as a note, in the unit of work of the
   requests themselves. So no reply is in the stream before the note. Requests ask for replies on a topic of their own
   set (`SetPlace`). A deadline is put into a queue that delivers it when the time is over.
2. `deadlines`: the driver publishes deadlines that are due, each in a unit of work.
3. `sets`: Spark gathers notes, replies and deadlines by set, in its own state, and forgets sets whose time is long
   over. Sets that got something new come out, with all that they have.
4. `collecting`: the history of a set is replayed through the flow's own nodes, in the order of the stream. Outputs of
   new messages are sent; all others were sent before.

So whether a set is complete or has timed out is decided by the order of the stream, and by nothing else: a batch that
is repeated decides the same again.
"""
