"""Where everything is in some records, for all of their messages at a time.

A *run* is messages that differ in nothing but their payloads, which have one length: those of a record of one topic, or
a single message of a record of several. What is known of runs is columns, which follow from the heads of records by
arithmetic on whole columns: there may be as many runs as messages.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from heliograph.log import MIXED_PACKETS, PUBLISH_PACKETS
from heliograph.log.streams import BlockData
from heliograph.pipeline.source.gathering import Numbers, Records, other_form

_FRONT_WORDS = np.arange(18)
"""A record's header and the head of messages behind it (`heliograph.log.record`, `heliograph.log.messages`) are so many
words of four bytes, and start at a multiple of that. The numbers of those that are wanted:"""
_COUNT, _TIME, _RECEIVERS, _FORM_FLAGS_TOPIC, _HEAD, _STRIDE, _PROPERTIES, _EXPIRES = 4, 7, 9, 10, 11, 13, 14, 16
_WORD, _FRONT_SIZE, _RECEIVER_SIZE = 4, 72, 14
_PUBLISHERS = 1
"""Of the columns that a record of several topics may have (`heliograph.log.mixed_messages`)."""
_QOS, _VERSION5 = 3, 8
_SIZE, _PLACE = 4, 2
"""Bytes of the length of a packet, and of a place within one, in those columns."""
_IDENTIFIER = 2
_LONGER_LENGTH = 0x80
"""Flag of a byte: another one follows, which is part of the same number."""


class Runs(NamedTuple):
    """Runs in the order of their messages, column by column. Places are indexes of the bytes of all records."""

    first: Numbers
    """The offset of the first message."""
    number: Numbers
    """How many messages there are."""
    flags: Numbers
    """As the record has them."""
    topic_at: Numbers
    topic_end: Numbers
    properties_at: Numbers
    properties_end: Numbers
    head: Numbers
    """Bytes before the payload in each packet."""
    stride: Numbers
    """Bytes of each packet."""
    data_at: Numbers
    """Where the first packet starts."""
    time: Numbers
    expires: Numbers

    def only(self, which: npt.NDArray[np.bool_] | Numbers) -> "Runs":
        """Some of them, or all of them in another order."""
        return Runs(*(column[which] for column in self))

    def within(self, first: int, end: int) -> "Runs":
        """What they have of the messages from offset `first` up to `end`."""
        lo, hi = np.maximum(self.first, first), np.minimum(self.first + self.number, end)
        part = self._replace(first=lo, number=hi - lo, data_at=self.data_at + (lo - self.first) * self.stride)
        return part if (lo < hi).all() else part.only(lo < hi)


def runs_of(records: Records, first: int, end: int) -> Runs:
    """The runs with messages from offset `first` up to `end`."""
    words = np.frombuffer(records.data, np.uint32, len(records.data) // _WORD)
    front: Numbers = words[(records.starts // _WORD)[:, None] + _FRONT_WORDS].astype(np.int64)
    forms = front[:, _FORM_FLAGS_TOPIC] & 0xFF
    mixed = forms == MIXED_PACKETS
    if not mixed.any():
        if (forms != PUBLISH_PACKETS).any():
            raise other_form(forms.max())
        return _uniform(front, records.starts, records.firsts).within(first, end)
    runs = _mixed(records.data, front[mixed], records.starts[mixed], records.firsts[mixed])
    if not mixed.all():
        if (forms[~mixed] != PUBLISH_PACKETS).any():
            raise other_form(forms[~mixed].max())
        others = _uniform(front[~mixed], records.starts[~mixed], records.firsts[~mixed])
        both = Runs(*(np.concatenate(columns) for columns in zip(runs, others, strict=True)))
        runs = both.only(np.argsort(both.first, kind="stable"))
    return runs.within(first, end)


def _longs(front: Numbers, word: int) -> Numbers:
    """Of each record, a number of two words."""
    return front[:, word] | front[:, word + 1] << 32


def _uniform(front: Numbers, starts: Numbers, firsts: Numbers) -> Runs:
    """Each record of one topic is a run."""
    flags_topic = front[:, _FORM_FLAGS_TOPIC]
    topic_at = starts + _FRONT_SIZE + _RECEIVER_SIZE * front[:, _RECEIVERS]
    topic_end = topic_at + (flags_topic >> 16)
    properties_end = topic_end + front[:, _PROPERTIES]
    return Runs(
        first=firsts,
        number=front[:, _COUNT],
        flags=flags_topic >> 8 & 0xFF,
        topic_at=topic_at,
        topic_end=topic_end,
        properties_at=topic_end,
        properties_end=properties_end,
        head=front[:, _HEAD],
        stride=front[:, _STRIDE],
        data_at=properties_end,
        time=_longs(front, _TIME),
        expires=_longs(front, _EXPIRES),
    )


def _mixed(data: BlockData, front: Numbers, starts: Numbers, firsts: Numbers) -> Runs:
    """Each message of a record of several topics is a run."""
    counts, form_flags_columns = front[:, _COUNT], front[:, _FORM_FLAGS_TOPIC]
    sizes_at = starts + _FRONT_SIZE + _RECEIVER_SIZE * front[:, _RECEIVERS]
    ends_at = sizes_at + _SIZE * counts
    heads_at = ends_at + _PLACE * counts
    publishers = form_flags_columns >> 16 & _PUBLISHERS
    data_at = heads_at + (_PLACE + _SIZE * publishers) * counts

    before = np.cumsum(counts) - counts
    """Messages in all records before one."""
    halves = np.frombuffer(data, np.uint16, len(data) // _PLACE)
    """Records start at a multiple of eight, and all that is before the packets has an even size."""
    index = np.arange(counts.sum())

    def of_each(values: Numbers) -> Numbers:
        return np.repeat(values, counts)

    low = of_each(sizes_at // _PLACE - 2 * before) + 2 * index
    sizes = halves[low].astype(np.int64) | halves[low + 1].astype(np.int64) << 16
    ends = halves[of_each(ends_at // _PLACE - before) + index].astype(np.int64)
    heads = halves[of_each(heads_at // _PLACE - before) + index].astype(np.int64)
    packets_end = np.cumsum(sizes)
    total_before = np.concatenate(([0], packets_end))[before]
    packet_at = of_each(data_at - total_before) + packets_end - sizes
    flags = form_flags_columns >> 8 & 0xFF
    topic_end = packet_at + ends
    payload_at = packet_at + heads
    return Runs(
        first=of_each(firsts - before) + index,
        number=np.ones_like(index),
        flags=of_each(flags),
        topic_at=packet_at + _name_starts(sizes),
        topic_end=topic_end,
        properties_at=_behind_length(data, topic_end + of_each(_IDENTIFIER * (flags & _QOS != 0)), payload_at),
        properties_end=payload_at,
        head=heads,
        stride=sizes,
        data_at=packet_at,
        time=of_each(_longs(front, _TIME)),
        expires=np.zeros_like(index),
    )


def _name_starts(sizes: Numbers) -> Numbers:
    """Where topics start in packets of these sizes: see `topic_start` of `heliograph.log.mixed_messages`."""
    starts = np.full(len(sizes), 4)
    for size in (0x7F + 2, 0x3FFF + 3, 0x1FFFFF + 4):
        longer = sizes > size
        if not longer.any():
            break
        starts += longer
    return starts


def _behind_length(data: BlockData, starts: Numbers, ends: Numbers) -> Numbers:
    """Where properties start that have their length before them; `ends` where there are none.

    Nothing is there in packets before MQTT 5, and a single zero in most others.
    """
    places = ends.copy()
    there = np.flatnonzero(ends - starts > 1)
    if len(there):
        each = np.frombuffer(data, np.uint8)
        at = starts[there]
        while len(longer := np.flatnonzero(each[at] & _LONGER_LENGTH)):
            at[longer] += 1
        places[there] = at + 1
    return places
