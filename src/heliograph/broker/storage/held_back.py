"""What clients are told only when it is safe: packets and actions that wait for the log.

How soon a turn is safe depends on who waits for it. A client that sends again right after it has been answered is *in
conversation*: it waits for the disk with each message, so a turn that it waits for is forced at once. All others can
wait for the pace of commits (`LogOptions.interval`).
"""

from collections import deque
from collections.abc import Callable, Sequence

from heliograph.broker.core.defects import Defects
from heliograph.broker.core.outlet import Outlet
from heliograph.log import MessageLog

_RELEASED_AT_ONCE = 100
_DONE_AT_ONCE = 16
"""Packets that leave, and actions that are done, before it is seen whether that is enough for one turn."""
_CONVERSATION = 10
"""Intervals between two commits: a client that sends something within this time of its last answer is in conversation.
So the pace of commits makes no client slower than by a tenth."""

Action = tuple[Callable[[], None], Outlet | None]
"""What is done when a turn is safe, and the client on whose account."""


class _Held:
    """What waits for one turn: packets, column by column because there may be one for every client, and actions."""

    __slots__ = ("actions", "at", "chunks", "outlets", "until")

    def __init__(self) -> None:
        self.until = 0
        """It may leave when the log is safe up to there."""
        self.outlets: list[Outlet] = []
        self.chunks: list[bytes] = []
        self.at = 0
        """So many packets have left."""
        self.actions: deque[Action] = deque()

    @property
    def has_packets(self) -> bool:
        """Whether there are packets that have not left."""
        return self.at < len(self.outlets)


class HeldBack:
    """`broker.turn.held`, if there is a log."""

    def __init__(self, ledger: MessageLog, interval: float, now: Callable[[], float], defects: Defects) -> None:
        """`interval` is that between two commits."""
        self._ledger = ledger
        self._now = now
        self._defects = defects
        self._conversation = _CONVERSATION * interval
        self._turn = _Held()
        self.at_once = False
        """Somebody in conversation waits for this turn."""
        self._turns: deque[_Held] = deque()
        """Turns that are over."""

    # This turn

    def hold(self, outlet: Outlet, chunk: bytes) -> None:
        """Write these packets when this turn is safe."""
        self._put(self._turn, outlet, chunk)

    def hold_behind(self, outlet: Outlet, chunk: bytes) -> None:
        """Write these packets after those that are held for this outlet. They need not wait for this turn."""
        last = self._turns[-1] if self._turns else self._turn
        self._put(self._turn if self._turn.outlets or not last.has_packets else last, outlet, chunk)

    def answer(self, outlet: Outlet, chunk: bytes) -> None:
        """Like `hold`, for packets that this client may be waiting for before it sends more."""
        self._put(self._turn, outlet, chunk)
        if not self.at_once:
            self.at_once = self._is_in_conversation(outlet)

    @staticmethod
    def _put(turn: _Held, outlet: Outlet, chunk: bytes) -> None:
        outlet.unsafe += 1
        turn.outlets.append(outlet)
        turn.chunks.append(chunk)

    def answer_all(self, outlets: Sequence[Outlet], chunks: Sequence[bytes]) -> None:
        """The same for many clients, each of which has a chunk."""
        for outlet in outlets:
            outlet.unsafe += 1
        self._turn.outlets += outlets
        self._turn.chunks += chunks
        if not self.at_once:
            self.at_once = any(map(self._is_in_conversation, outlets))

    def when_safe(self, action: Callable[[], None]) -> None:
        """Do this when this turn is safe, on account of the client that is being served."""
        client = self._defects.serving
        self._turn.actions.append((action, client))
        if client is not None and not self.at_once:
            self.at_once = self._is_in_conversation(client)

    def _is_in_conversation(self, outlet: Outlet) -> bool:
        """Whether a client sends again right after it was answered. One that has just come is taken for such a one."""
        answered = outlet.answered
        return not answered or self._now() - answered < self._conversation

    @property
    def is_awaited(self) -> bool:
        """Whether somebody waits for this turn."""
        return bool(self._turn.outlets or self._turn.actions)

    def mark(self) -> int:
        """A place for `forget_actions`."""
        return len(self._turn.actions)

    def forget_actions(self, mark: int) -> None:
        """What was to be done since that place was marked is not to be done."""
        while len(self._turn.actions) > mark:
            self._turn.actions.pop()

    def end_turn(self) -> None:
        """This turn is over: what is held may go when the log is safe up to where it ends now."""
        self._turn.until = self._ledger.end
        self._turns.append(self._turn)
        self._turn, self.at_once = _Held(), False

    def forget(self) -> None:
        """Nobody is told anything: it is not known what has happened."""
        self._turn, self.at_once = _Held(), False
        self._turns.clear()

    # Turns that are over

    @property
    def ready(self) -> bool:
        """Whether something that was held may leave."""
        return bool(self._turns) and self._turns[0].until <= self._ledger.safe and not self._ledger.halted

    @property
    def is_empty(self) -> bool:
        """Whether nothing is held."""
        return not (self._turns or self.is_awaited)

    def release(self, dirty: list[Outlet], is_enough: Callable[[], bool]) -> None:
        """Put what may leave now that more is safe into outlets; those that had been empty are added to `dirty`.

        Where there is so much that it `is_enough`, the rest is left for another call: `ready` says so.
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
        """Some packets of a turn. There may be one for each client, so what `Turn.write` does is done right here."""
        at, turn.at = turn.at, turn.at + _RELEASED_AT_ONCE
        for outlet, chunk in zip(turn.outlets[at : turn.at], turn.chunks[at : turn.at], strict=True):
            outlet.unsafe -= 1
            outlet.answered = now
            if not outlet.finished:
                chunks = outlet.chunks
                if not chunks:
                    dirty.append(outlet)
                chunks.append(chunk)

    def _do(self, actions: deque[Action], now: float, is_enough: Callable[[], bool]) -> bool:
        """Do what was to be done when a turn is safe; False if the rest is left for another call."""
        for number in range(1, len(actions) + 1):
            action, client = actions.popleft()
            if client is not None:
                client.answered = now
            try:
                action()
            except Exception:
                # All of the turn is in the log. At worst it takes a restart until everybody can see it.
                self._defects.note("what was to be done when something is safe", client)
            if actions and not number % _DONE_AT_ONCE and is_enough():
                return False
        return True
