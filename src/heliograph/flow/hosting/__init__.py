"""The rules by which flows are hosted: what happens next with a message or a unit of work, given what happened to it.

A flow runs in one of two hosts. The *inline* host (`helio flow run`) takes messages from queues, topics, files and
requests. The *Spark* host (`helio pipeline run`) gets rows of a stream. Both have to do the same with a message whose
flow fails, so the rules are here, and a host has only the input and output: taking, sending, committing, sleeping.
Nothing in this package does I/O or looks at a clock.

**Units of work.** The engine says for each message how its unit of work ends (`engine.outcome.Result`). A host takes
messages in batches, and asks `Rules` for the next `Step`: after the flow (`after_batch`, `after_message`), after
effects that could not be carried out (`after_refusal`), and after a commit that failed (`after_failed_commit`).

**Blame.** A message is blamed for a failure only when it was alone in its unit of work. So a batch in which one message
fails is rolled back without blame, and its messages are taken one by one (`Step.ONE_BY_ONE`). A failure that no message
is to blame for, such as a lost connection, is tried again as often as needed.

**Backing out.** A message that fails alone is given back, and comes again with a higher backout count
(`Step.BACK_OUT`). The engine decides by this count which path it takes: `out`, `failure`, then the backout queue or
the dead-letter queue (`engine.backout`). The server counts, too, and may put a message away by its own rules;
`Attempts` keeps the count of this flow. Spark cannot give a message back: it is tried at once with
each count that leads to another path, and what fails in the last attempt becomes a dead letter (`Step.DEAD_LETTER`).

**Refusals.** The server may refuse an effect (a queue is full, a name is unknown). The message goes through the flow
again with what was refused, and the output node fails there, so that its failure path gets a chance. If the same is
refused once more, the flow did not heed it: the message is given back, and on Spark the task stops (`Step.STOP`).

**Waiting.** When a database cannot be reached, all messages would fail. They are not blamed: the unit of work is rolled
back and taken again after a pause (`Step.LATER`, `Waiting`). The inline host waits as long as it takes. A task on
Spark has limited patience, and then stops.
"""

from heliograph.flow.hosting.attempts import (
    ATTEMPTS,
    Attempts,
    BatchSize,
    RefusalMemory,
    Waiting,
    is_new,
    may_be_put_away,
)
from heliograph.flow.hosting.rules import (
    INLINE,
    SPARK,
    BatchDecision,
    Rules,
    Step,
    is_lost,
    unreachable,
    unreadable,
    with_dead_letters,
)

__all__ = [
    "ATTEMPTS",
    "INLINE",
    "SPARK",
    "Attempts",
    "BatchDecision",
    "BatchSize",
    "RefusalMemory",
    "Rules",
    "Step",
    "Waiting",
    "is_lost",
    "is_new",
    "may_be_put_away",
    "unreachable",
    "unreadable",
    "with_dead_letters",
]
