"""What can be asked of MQSC here, for `help`, `?` and messages about what cannot."""

OBJECTS = {
    "DEFINE": ("QLOCAL", "QALIAS", "QMODEL", "SUB"),
    "ALTER": ("QLOCAL", "QALIAS", "QMODEL", "QMGR"),
    "DISPLAY": ("QUEUE", "QLOCAL", "QALIAS", "QMODEL", "QSTATUS", "SUB", "QMGR"),
    "CLEAR": ("QLOCAL",),
    "DELETE": ("QLOCAL", "QALIAS", "QMODEL", "SUB"),
}
"""What each command can be done to."""
ASKING = frozenset({"HELP", "?"})

TEXT = """\
   DEFINE QLOCAL(name) attributes          a queue; QALIAS(name) TARGET(queue), QMODEL(name)
   DEFINE SUB(name) TOPICSTR('a/#') DEST(queue)
                                           messages of a topic go to a queue
   ALTER QLOCAL(name) attributes           change a queue; QALIAS, QMODEL
   ALTER QMGR DEADQ(queue)                 where dead letters go
   DISPLAY QUEUE(name) attributes          show queues; QLOCAL, QALIAS, QMODEL; name* for all that begin so
   DISPLAY QSTATUS(name)                   depth, consumers, messages in flight, age of the oldest
   DISPLAY SUB(name), DISPLAY QMGR         subscriptions; the server
   CLEAR QLOCAL(name)                      forget the messages of a queue
   DELETE QLOCAL(name)                     delete; QALIAS, QMODEL, SUB; PURGE if there are messages
   END                                     leave
   Names are folded to capitals unless they stand in quotes: 'orders'."""
