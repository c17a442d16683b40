"""Results that come later, without threads or event loops: the core waits for these, and a face waits for the core.

Core code that takes several steps is written as coroutines that await `Pending`s. `start` runs them: each goes on
in the very call that settles what it waits for.
"""

from collections.abc import Callable, Coroutine, Generator
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class Pending(Generic[T]):
    """A result that is not there yet."""

    __slots__ = ("_callbacks", "_error", "_value", "done")

    def __init__(self) -> None:
        self.done = False
        self._value: T | None = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Pending[T]], object]] | None = None

    def resolve(self, value: T) -> None:
        """This is the result. A result that is there already stays."""
        if not self.done:
            self._value = value
            self._finish()

    def fail(self, error: BaseException) -> None:
        """There will be no result, because of `error`."""
        if not self.done:
            self._error = error
            self._finish()

    def _finish(self) -> None:
        self.done = True
        callbacks, self._callbacks = self._callbacks, None
        for callback in callbacks or ():
            callback(self)

    def when_done(self, callback: Callable[["Pending[T]"], object]) -> None:
        """Call `callback` with this as soon as it is done, which may be now."""
        if self.done:
            callback(self)
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    @property
    def error(self) -> BaseException | None:
        """Why there is no result, or None."""
        return self._error

    def result(self) -> T:
        """The result; only when done."""
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]

    def __await__(self) -> Generator["Pending[Any]", None, T]:
        if not self.done:
            yield self
        return self.result()


def resolved(value: T) -> Pending[T]:
    """A result that is there from the beginning."""
    pending: Pending[T] = Pending()
    pending.resolve(value)
    return pending


def start(steps: Coroutine[Any, Any, T]) -> Pending[T]:
    """Run a coroutine of the core as far as it goes; the rest follows when what it waits for is done."""
    outcome: Pending[T] = Pending()

    def step(_: Pending[Any] | None = None) -> None:
        # A loop, not recursion: what it waits for next may be done already.
        while True:
            try:
                waiting_for = steps.send(None)
            except StopIteration as end:
                outcome.resolve(end.value)
                return
            except Exception as error:
                outcome.fail(error)
                return
            if not waiting_for.done:
                waiting_for.when_done(step)
                return

    step()
    return outcome


def all_of(pendings: list[Pending[Any]]) -> Pending[None]:
    """Done when all are; fails with the first error, but not before all are done."""
    outcome: Pending[None] = Pending()
    left = len(pendings)
    errors: list[BaseException] = []

    def one(pending: Pending[Any]) -> None:
        nonlocal left
        left -= 1
        if pending.error is not None:
            errors.append(pending.error)
        if not left:
            finish()

    def finish() -> None:
        if errors:
            outcome.fail(errors[0])
        else:
            outcome.resolve(None)

    if not pendings:
        outcome.resolve(None)
    for pending in pendings:
        pending.when_done(one)
    return outcome
