"""What must hold for queues in the history of a run, however often the server was killed. History in, faults out.

A word on each of the rules that need one:

* *Lost*: what was put for certain has to be got in the end. So the last get of a message must be one that may have
  worked. A message that was put in doubt and has been seen is there for certain. One that is not persistent may
  vanish, but only by a kill.
* *Duplicated*: a get that was committed is the last one of a message. One that was acknowledged without an answer may
  be forgotten by a kill, and by nothing else.
* *Half-committed*: for a unit of work in doubt, everything that is known of it must say the same: that it has happened
  (a put was seen, a persistent message that it got was not seen again) or that it has not.
* *Count*: a delivery that failed counts once, never twice. A kill may forget the last failures. A server that is
  stopped in good order loses all its consumers: that may count for what they had, or had fetched ahead.
* *Backed out*: a message that has failed as often as the threshold says comes from the other queue from then on. But
  after a consumer was lost with it, nobody is sure that it failed: it gets one more delivery then (see
  docs/guides/queues.md).
* *Log*: the server's log is another witness. What was put for certain is in it, what was rolled back is not, and what
  is acknowledged there has been with somebody.
* *Order* is looked at where there was one consumer at a time, for messages of one sender that are alike: those that
  are not persistent are seen at once, and may overtake others that have to be safe first.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

from faults.queues.history import Fate, Get, History, Key, Put, Unit
from faults.rules import Violation

NEVER = 1 << 32

_Sightings = dict[Key, list[tuple[Get, Unit]]]
_Puts = dict[Key, tuple[Put, Unit]]


def violations(history: History) -> list[Violation]:
    """Everything in this history that must not happen."""
    seen, put = _sightings(history), _puts(history)
    return [
        *_lost(history, seen, put),
        *_duplicated(seen),
        *_unexpected(history, seen, put),
        *_half_committed(history, seen, put),
        *_out_of_order(history, seen, put),
        *_counts(history, seen),
        *_backed_out(history, seen),
        *_selected(seen),
        *_left_over(history),
        *_log(history, seen, put),
    ]


def recovered(history: History) -> int:
    """How many units of work have happened although nobody was told."""
    seen, put = _sightings(history), _puts(history)
    return sum(unit.fate is Fate.IN_DOUBT and bool(_happened(unit, seen, put)) for unit in history.units)


def _sightings(history: History) -> _Sightings:
    seen: _Sightings = defaultdict(list)
    for unit in history.units:
        for get in unit.gets:
            seen[get.key].append((get, unit))
    for sightings in seen.values():
        sightings.sort(key=lambda sighting: sighting[0].moment)
    return dict(seen)


def _puts(history: History) -> _Puts:
    return {key: (put, unit) for unit in history.units for put in unit.puts for key in put.keys}


def _lost(history: History, seen: _Sightings, put: _Puts) -> Iterator[Violation]:
    for key, (message, unit) in put.items():
        sightings = seen.get(key, [])
        if unit.fate is not Fate.DONE and not (unit.fate is Fate.IN_DOUBT and sightings):
            continue
        if not message.persistent and unit.life < history.life:
            continue
        if not sightings:
            text = f"{key} was put ({unit.fate}, life {unit.life}), and never seen{_in_log(history, key)}"
            yield Violation("lost", text)
        elif sightings[-1][1].fate is Fate.UNDONE:
            last = sightings[-1][1]
            text = f"{key} was given back by {last.who} in life {last.life}, and never seen again"
            yield Violation("lost", text + _in_log(history, key))


def _duplicated(seen: _Sightings) -> Iterator[Violation]:
    for key, sightings in seen.items():
        for (_, unit), (_, next_unit) in pairwise(sightings):
            certain = unit.fate is Fate.DONE or (unit.fate is Fate.TOLD and unit.life == next_unit.life)
            if certain:
                yield Violation(
                    "duplicated",
                    f"{key} was got by {unit.who} ({unit.fate}, life {unit.life}) "
                    f"and seen again by {next_unit.who} (life {next_unit.life})",
                )


def _unexpected(history: History, seen: _Sightings, put: _Puts) -> Iterator[Violation]:
    for key, sightings in seen.items():
        who = sightings[0][1].who
        if key not in put:
            yield Violation("unexpected", f"{who} got {key}, which nobody put there")
        elif put[key][1].fate is Fate.UNDONE:
            yield Violation("unexpected", f"{who} got {key}, which was rolled back or refused")
    for text in history.damaged:
        yield Violation("unexpected", f"this is no message of ours: {text}")


def _half_committed(history: History, seen: _Sightings, put: _Puts) -> Iterator[Violation]:
    for unit in history.units:
        if unit.fate is not Fate.IN_DOUBT:
            continue
        happened, did_not = _happened(unit, seen, put), _did_not_happen(unit, seen)
        if happened and did_not:
            text = f"a unit of work of {unit.who} in life {unit.life}: {happened[0]}, but {did_not[0]}"
            yield Violation("half-committed", text)


def _happened(unit: Unit, seen: _Sightings, put: _Puts) -> list[str]:
    """All that says that a unit of work in doubt was done."""
    puts = [f"{key} was seen" for one in unit.puts for key in one.keys if key in seen]
    gets = [
        f"{get.key} did not come back"
        for get in unit.gets
        if seen[get.key][-1][0] is get and get.key in put and put[get.key][0].persistent
    ]
    return puts + gets


def _did_not_happen(unit: Unit, seen: _Sightings) -> list[str]:
    """All that says that it was not."""
    puts = [f"{key} was never seen" for one in unit.puts if one.persistent for key in one.keys if key not in seen]
    gets = [f"{get.key} came back" for get in unit.gets if seen[get.key][-1][0] is not get]
    return puts + gets


def _out_of_order(history: History, seen: _Sightings, put: _Puts) -> Iterator[Violation]:
    streams: dict[tuple[str, str, bool], list[Get]] = defaultdict(list)
    for key, sightings in seen.items():
        first = sightings[0][0]
        if key.place in history.ordered and key in put and not first.backed_out:
            streams[key.place, key.sender, put[key][0].persistent].append(first)
    for gets in streams.values():
        gets.sort(key=lambda get: get.moment)
        for one, other in pairwise(gets):
            if other.key.number < one.key.number:
                yield Violation("order", f"{other.key} came first after {one.key.number}")


def _counts(history: History, seen: _Sightings) -> Iterator[Violation]:
    """A message that was given back has failed once more when it comes again, or not if a kill was in between."""
    for key, sightings in seen.items():
        first, first_unit = sightings[0]
        if first.failures > _stops(history, 1, first_unit.life):
            yield Violation("count", f"{key} came to {first_unit.who} first, and had {first.failures} failures")
        for (get, unit), (again, next_unit) in pairwise(sightings):
            given_back = unit.life == next_unit.life and unit.fate is Fate.UNDONE and not unit.blameless
            least = get.failures + 1 if given_back else 0
            most = get.failures + (not unit.blameless) + _stops(history, unit.life, next_unit.life)
            if not least <= again.failures <= most:
                yield Violation(
                    "count", f"{key} failed at {unit.who} and had {get.failures} failures, {again.failures} afterwards"
                )


def _backed_out(history: History, seen: _Sightings) -> Iterator[Violation]:
    for key, sightings in seen.items():
        threshold = history.thresholds.get(key.place, NEVER)
        for number, (get, unit) in enumerate(sightings):
            chances = _more_chances(history, get, unit, sightings[:number])
            if all(get.backed_out != (get.failures >= threshold + more) for more in chances):
                where = "was" if get.backed_out else "was not"
                yield Violation("backed out", f"{key} {where} backed out after {get.failures} failures, at {unit.who}")


def _more_chances(history: History, get: Get, unit: Unit, before: list[tuple[Get, Unit]]) -> set[int]:
    """How many failures more than the threshold a message may have had in its queue: what is possible."""
    # It may have come with this count before: what counts is where it got it.
    failed = [earlier_unit for earlier, earlier_unit in before if earlier.failures < get.failures]
    if not failed:
        return {0}
    if failed[-1].deserted:
        return {1}
    return {0, 1} if _stops(history, failed[-1].life, unit.life) else {0}


def _stops(history: History, life: int, later: int) -> int:
    """How often the server was stopped in good order between a moment in one life and a moment in a later one."""
    return sum(life <= stopped < later for stopped in history.stopped)


def _selected(seen: _Sightings) -> Iterator[Violation]:
    for sightings in seen.values():
        for get, unit in sightings:
            if not get.selected:
                yield Violation("selector", f"{unit.who} got {get.key}, which it did not ask for")


def _left_over(history: History) -> Iterator[Violation]:
    for queue, depth in history.left_over.items():
        if depth:
            yield Violation("left over", f"{queue} has a depth of {depth} and gives no message")


def _log(history: History, seen: _Sightings, put: _Puts) -> Iterator[Violation]:
    records = history.records
    if records is None:
        return
    for key, (message, unit) in put.items():
        if unit.fate is Fate.DONE and message.persistent and key not in records.stored:
            yield Violation("log", f"{key} was put (life {unit.life}) and is not in the log")
        if unit.fate is Fate.UNDONE and key in records.stored:
            yield Violation("log", f"{key} was rolled back or refused (life {unit.life}){_in_log(history, key)}")
    for key in records.done.keys() - seen.keys():
        yield Violation("log", f"nobody had {key}{_in_log(history, key)}")


def _in_log(history: History, key: Key) -> str:
    """What the log tells of a message, to be added to a sentence."""
    records = history.records
    if records is None or key not in records.stored:
        return ""
    done = f"acknowledged at {records.done[key]}" if key in records.done else "not acknowledged"
    return f"; it is in the log at {records.stored[key]}, {done}"
