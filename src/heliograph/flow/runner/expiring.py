"""What a flow does because of the time: aggregations whose replies did not come."""

import threading
import time
from datetime import datetime

from heliograph.flow.engine.compiled import CompiledFlow
from heliograph.flow.runner.units import Units

_INTERVAL = 0.5
_FORGET_EVERY = 3600.0
_KEPT = 7 * 86400.0


class Expirer:
    """Looks for what is due, and sends it on, each in a unit of work of its own."""

    def __init__(self, flow: CompiledFlow, units: Units, stop: threading.Event) -> None:
        self._flow = flow
        self._units = units
        self._stop = stop
        self._forgotten = 0.0

    def turn(self) -> None:
        """Look once, then wait a moment."""
        now = datetime.now()
        resources = self._units.resources
        for timer in self._flow.due(now, resources):
            if self._stop.is_set():
                return
            outcome = self._flow.expire(timer, now, resources)
            self._units.complete([outcome], lambda _: False)
        if resources.aggregation is not None and time.time() - self._forgotten > _FORGET_EVERY:
            self._forgotten = time.time()
            resources.aggregation.forget(self._forgotten - _KEPT)
            resources.aggregation.commit()
        self._stop.wait(_INTERVAL)

    def close(self) -> None:
        """Nothing is kept."""
