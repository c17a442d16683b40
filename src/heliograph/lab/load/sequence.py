"""Numbered messages of one sender as they reach one receiver: what is missing, what came twice, what came late.

The `ledger` does the same for messages whose numbers are whole. These are known modulo some number only, because their
packets are made once and sent over and over.
"""


class SequenceTracker:
    """Counts messages that are numbered from 0 but known only modulo `modulus`, in whatever order they come."""

    def __init__(self, modulus: int) -> None:
        self.modulus = modulus
        self.next = 0  # every message before this one has arrived or is in `missing`
        self.missing: set[int] = set()
        self.duplicates = 0
        self.late = 0  # arrived after one that was sent later

    def take(self, sequence: int) -> None:
        """A message with this number (modulo `modulus`) has arrived."""
        ahead = (sequence - self.next) % self.modulus
        if ahead < self.modulus // 2:
            if ahead:
                self.missing.update(range(self.next, self.next + ahead))
            self.next += ahead + 1
            return
        late = self.next + ahead - self.modulus
        if late in self.missing:
            self.missing.remove(late)
            self.late += 1
        else:
            self.duplicates += 1

    @property
    def received(self) -> int:
        """Distinct messages that have arrived."""
        return self.next - len(self.missing)
