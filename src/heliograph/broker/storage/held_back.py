"""Packets and actions that are held back until the log is safe.

Theory of operation

1. An acknowledgement, or a message to a receiver, must not leave before what it promises or reveals is on the disk. So
   packets of a turn are gathered in its `_Held`. When the turn ends, `until` is set to the end of the log; when the log
   is safe up to there, the packets go into their outlets and the actions are done.
2. Turns are released strictly in order, and within a turn packets in the order in which they were held. So a client
   gets its packets in order. A packet that needs no safety itself, but follows one that is held, is put behind it
   (`hold_behind`). `outlet.unsafe` counts the held packets of a client.
3. How soon the disk is forced depends on who waits. A client that sends again right after it was answered is *in
   conversation*: each of its messages waits for the disk, so a turn that it waits for is forced at once (`at_once`).
   All others wait for the commit interval (`LogOptions.interval`), and share the cost of forcing.
4. After `forget`, nothing that was held ever leaves: it is not known what the log has.
"""

from collections import deque
from collections.abc import Callable, Sequence

from heliograph.broker.core.defects import Defects
from heliograph.broker.core.outlet import Outlet
from heliograph.log import MessageLog

_RELEASED_AT_ONCE = 100
_DONE_AT_ONCE = 16
"""Packets that are released, and actions that are done, before the caller is asked whether that is enough."""
_CONVERSATION = 10
"""Commit intervals: a client that sends within so many of its last answer is in conversation.

So the commit interval makes no client slower than by a tenth."""

Action = tuple[Callable[[], None], Outlet | None]
"""What is done when a turn is safe, and the client that is blamed if it fails."""


class _Held:
    """What waits for one turn: packets and actions. Packets are stored as columns, as there may be one per client."""

    __slots__ = ("actions", "at", "chunks", "outlets", "until")

    def __init__(self) -> None:
        self.until = 0
        """Position up to which the log must be safe."""
        self.outlets: list[Outlet] = []
        self.chunks: list[bytes] = []
        self.at = 0
        """Number of packets that were released already."""
        self.actions: deque[Action] = deque()

    @property
    def has_packets(self) -> bool:
        """Whether there are packets that were not released yet."""
        return self.at < len(self.outlets)


class HeldBack:
    """What is held back in one broker with a log (`broker.turn.held`)."""

    def __init__(self, ledger: MessageLog, interval: float, now: Callable[[], float], defects: Defects) -> None:
        """`interval` is the commit interval in seconds."""
        self._ledger = ledger
        self._now = now
        self._defects = defects
        self._conversation = _CONVERSATION * interval
        self._turn = _Held()
        self.at_once = False
        """A client in conversation waits for this turn."""
        self._turns: deque[_Held] = deque()
        """Turns that have ended, oldest first."""

    # The turn that is under way.

    def hold(self, outlet: Outlet, chunk: bytes) -> None:
        """Write a packet when this turn is safe."""
        self._put(self._turn, outlet, chunk)

    def hold_behind(self, outlet: Outlet, chunk: bytes) -> None:
        """Write a packet after those that are held for this outlet. It need not wait for this turn itself."""
        # The last ended turn will do, unless this one may hold packets for the same outlet, or that one was released in
        # part.
        last = self._turns[-1] if self._turns else self._turn
        self._put(self._turn if self._turn.outlets or not last.has_packets else last, outlet, chunk)

    def answer(self, outlet: Outlet, chunk: bytes) -> None:
        """Like `hold`, for a packet that the client may wait for before it sends more."""
        self._put(self._turn, outlet, chunk)
        if not self.at_once:
            self.at_once = self._is_in_conversation(outlet)

    @staticmethod
    def _put(turn: _Held, outlet: Outlet, chunk: bytes) -> None:
        outlet.unsafe += 1
        turn.outlets.append(outlet)
        turn.chunks.append(chunk)

    def answer_all(self, outlets: Sequence[Outlet], chunks: Sequence[bytes]) -> None:
        """`answer` for many clients, one packet for each."""
        for outlet in outlets:
            outlet.unsafe += 1
        self._turn.outlets += outlets
        self._turn.chunks += chunks
        if not self.at_once:
            self.at_once = any(map(self._is_in_conversation, outlets))

    def when_safe(self, action: Callable[[], None]) -> None:
        """Do this when this turn is safe. If it fails, the client that is being served now is blamed."""
        client = self._defects.serving
        self._turn.actions.append((action, client))
        if client is not None and not self.at_once:
            self.at_once = self._is_in_conversation(client)

    def _is_in_conversation(self, outlet: Outlet) -> bool:
        """Whether a client sends again right after it was answered. One that was never answered is assumed to."""
        answered = outlet.answered
        return not answered or self._now() - answered < self._conversation

    @property
    def is_awaited(self) -> bool:
        """Whether anything is held for this turn."""
        return bool(self._turn.outlets or self._turn.actions)

    def mark(self) -> int:
        """A mark for `forget_actions`."""
        return len(self._turn.actions)

    def forget_actions(self, mark: int) -> None:
        """Drop the actions that were added since the mark."""
        while len(self._turn.actions) > mark:
            self._turn.actions.pop()

    def end_turn(self) -> None:
        """End this turn: what it holds is released when the log is safe up to its present end."""
        self._turn.until = self._ledger.end
        self._turns.append(self._turn)
        self._turn, self.at_once = _Held(), False

    def forget(self) -> None:
        """Drop everything that is held: the store has halted, and it is not known what the log has."""
        self._turn, self.at_once = _Held(), False
        self._turns.clear()

    # Turns that have ended.

    @property
    def ready(self) -> bool:
        """Whether something that is held may be released."""
        return bool(self._turns) and self._turns[0].until <= self._ledger.safe and not self._ledger.halted

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held."""
        return not (self._turns or self.is_awaited)

    def release(self, dirty: list[Outlet], is_enough: Callable[[], bool]) -> None:
        """Release what is safe now. Outlets that had been empty are added to `dirty`.

        When `is_enough` says so, the rest is left for another call, and `ready` stays true.
        """
        now = self._now()
        while self.ready:
            turn = self._turns[0]
            while turn.has_packets:
                self._release_packets(turn, dirty, now)
                if turn.has_packets and is_enough():
                    return
            if turn.actions and not self._do(turn.actions, now, is_enough):
                return
            if self._turns:  # unless an action has halted all
                self._turns.popleft()
            if is_enough():
                break

    def _release_packets(self, turn: _Held, dirty: list[Outlet], now: float) -> None:
        """Release some packets of a turn. This repeats `Turn.write` inline: there may be one packet for each client."""
        at, turn.at = turn.at, turn.at + _RELEASED_AT_ONCE
        for outlet, chunk in zip(turn.outlets[at : turn.at], turn.chunks[at : turn.at], strict=True):
            outlet.unsafe -= 1
            outlet.answered = now
            # The connection of a finished outlet is closing: nothing more is written to it.
            if not outlet.finished:
                chunks = outlet.chunks
                if not chunks:
                    dirty.append(outlet)
                chunks.append(chunk)

    def _do(self, actions: deque[Action], now: float, is_enough: Callable[[], bool]) -> bool:
        """Do the actions of a turn that is safe; False if the rest is left for another call."""
        for number in range(1, len(actions) + 1):
            action, client = actions.popleft()
            if client is not None:
                client.answered = now
            try:
                action()
            except Exception:
                # The turn is safe in the log. At worst its effect is not visible before the next restart.
                self._defects.note("what was to be done when something is safe", client)
            if actions and not number % _DONE_AT_ONCE and is_enough():
                return False
        return True
