"""The server as a whole: starts, reloads and stops everything.

**What it owns.** The store with its log, the broker, the listeners, the pages, and the supervisors of queue managers
and pipelines. All of it runs in one event loop; only the log has a thread of its own, and passwords have a few.

**Start.** Queue managers start first: their processes open their logs meanwhile. Then the log is opened, the broker is
built from it, queues and streams of the configuration are declared, and listeners and pages open. If any of it fails,
everything that was opened is closed again, and the Problem says why. Clients are accepted when everything is there.

**Running.** Three things drive the server besides clients: `_tick` (timers, retention, maintenance of the log, the
index of streams), the log's bell (`_wake`, from the log's thread: something is safe now, or the disk is in trouble),
and `_report` ($SYS). Each does its work in slices, so that clients have their turns in between. A failure in one of
them is noted as a defect, and the rest continues.

**Reload.** First everything that can be wrong is checked, then everything is changed: a mistake leaves all as it was.
Attributes that need a restart are named in the log and keep their old values.

**Stop.** Pipelines first (they are clients), then listeners close, clients are told and get time to read their last
bytes, and the log closes last.
"""

import asyncio
import contextlib
import gc
import logging
import os
import time
from collections.abc import Callable, Container
from functools import partial
from pathlib import Path
from typing import Any

from heliograph.broker import (
    SLICE,
    SYSTEM_QUEUES,
    AmqpConnection,
    AmqpHost,
    Broker,
    Clock,
    MqttConnection,
    QueueKind,
    Refused,
    Store,
    SysTopics,
    random_name,
)
from heliograph.common.collector import collector_paused
from heliograph.errors import Problem, StorageError
from heliograph.log import LogOptions
from heliograph.mqtt import Reason
from heliograph.server import systemd
from heliograph.server.access.authentication import Credentials
from heliograph.server.config import loading as configuration
from heliograph.server.config.loading import Config
from heliograph.server.config.rules import elsewhere
from heliograph.server.config.schema import Durability, ListenerConfig, ListenerProtocol
from heliograph.server.hosts import address_from_here, address_text, is_own_host, may_be_own_host
from heliograph.server.http.pages import pages
from heliograph.server.http.server import HttpServer
from heliograph.server.http.stream_making import StreamMaking
from heliograph.server.http.stream_pages import StreamPages
from heliograph.server.logs import configure_logging
from heliograph.server.network.accepting import cannot_listen, most_pages
from heliograph.server.network.client_log import LogJournal
from heliograph.server.network.listeners import Listener
from heliograph.server.network.loop import AsyncioFiles, ClientLoop
from heliograph.server.network.sockets import Reactor
from heliograph.server.network.writing import Writer
from heliograph.server.processes.pipelines import Pipelines
from heliograph.server.processes.queue_managers import QueueManagers, serving
from heliograph.server.watchdog import Watchdog

log = logging.getLogger(__name__)

# How exact keep-alives, wills and expiries are.
_TICK = 0.2
# Seconds that each tick spends on checkpoints and compaction, if there is need.
_UPKEEP = 0.02
# Seconds that it spends at once, and after something has become safe: clients have their turns in between.
_UPKEEP_AT_ONCE = 0.002
# The collector's thresholds. It looks at what is new in small parts, some 9000 objects at most, because everybody waits
# meanwhile: four times as many take 8 ms.
_COLLECT = (3_000, 1, 3_000)
# Seconds between two looks at how much streams keep.
_RETENTION = 1.0
# Least seconds between two updates of the streams' index after something has become safe; each tick makes one too.
_INDEX_PACE = 0.02
# How many queues a line of the log names.
_NAMED = 20
# How long a stopping server waits for clients to read their last bytes.
_GOODBYE = 2.0


def _for_a_slice() -> Callable[[], bool]:
    """Tells whether there is time left for what has just begun."""
    until = time.monotonic() + SLICE
    return lambda: time.monotonic() < until


class Server:
    """One server process. All of it runs in the event loop that `start` is called in."""

    def __init__(self, config: Config, queue_manager: str | None = None) -> None:
        """With a name, this process is that queue manager, and the configuration is its own already."""
        self.config = self._started_with = config
        self._queue_manager = queue_manager
        self.queue_managers = QueueManagers(config, self.facts, serving(str(config.source)))
        self.pipelines = Pipelines(config, self._pages_url)
        self.broker: Broker
        self._trouble = ""
        self._index_due = 0.0
        self.watchdog = Watchdog()
        self.listeners: list[Listener] = []
        self.http: HttpServer | None = None

    async def start(self) -> None:
        """Open the log and all listeners; a Problem says what is in the way, and then nothing is left open."""
        loop = asyncio.get_running_loop()
        self._loop = loop
        self.queue_managers.start()  # they open their logs while this process opens its own
        gc.collect()
        try:
            with collector_paused():
                self._store = self._open_store()
                try:
                    await self._start(loop)
                except BaseException:
                    self._store.close()
                    raise
        except BaseException:
            await self.queue_managers.stop()
            raise

    def _open_store(self) -> Store:
        storage = self.config.storage
        options = LogOptions(force=storage.durability is Durability.DISK, interval=storage.commit_interval)
        directory = Path(storage.directory)
        try:
            store = Store(directory, Clock(time.monotonic, time.time), self._wake, options)
        except OSError as error:
            raise StorageError(f"storage.directory: {directory}: {error.strerror or error}") from None
        if directory.stat().st_mode & 0o077:
            log.warning(
                "the folder of the log is accessible to other users of this machine; it contains messages",
                extra={"folder": str(directory), "mode": f"{directory.stat().st_mode & 0o777:o}"},
            )
        if store.ledger.log.torn is not None:
            log.warning(
                "the log was not closed cleanly and has been recovered", extra={"detail": str(store.ledger.log.torn)}
            )
        return store

    def _wake(self) -> None:
        """Called in the log's thread when messages have become safe, or cannot be stored."""
        if isinstance(self._loop, ClientLoop):
            self._loop.ring()
            return
        with contextlib.suppress(RuntimeError):  # the loop is closed already
            self._loop.call_soon_threadsafe(self._more_is_safe)

    def _more_is_safe(self) -> None:
        self._release()
        self._writer.flush()

    def _release(self) -> None:
        """Release acknowledgements and messages that are safe now; clients are written to right after this."""
        trouble = self._store.trouble
        if trouble != self._trouble:
            if trouble:
                log.error("messages cannot be stored: %s", trouble)
            else:
                log.warning("messages can be stored again")
            self._trouble = trouble
        self.watchdog.mark(lambda: {"what": "answers and messages that are safe now"})
        self._attempt("sending what is safe now", self.broker.turn.more_is_safe)
        store = self._store
        # Rare, or only where there are streams: not before clients have been written to.
        if store.upkeep.busy or (store.streams.by_name and time.monotonic() >= self._index_due):
            self._loop.call_soon(self._look_after_log)

    def _look_after_log(self) -> None:
        self.watchdog.mark(lambda: {"what": "upkeep of the log"})
        if self._store.upkeep.busy:  # it may have waited for just this
            self._upkeep(_UPKEEP_AT_ONCE)
        if (now := time.monotonic()) >= self._index_due:
            self._index_due = now + _INDEX_PACE
            self._attempt("the index of streams", self._update_index)

    def _update_index(self) -> None:
        """Update the index of streams, in slices, because there may be very many partitions."""
        if self._store.streams.update_index(_for_a_slice()):
            self._index_due = 0.0
            self._loop.call_soon(self._look_after_log)

    def _attempt(self, what: str, action: Callable[[], None]) -> None:
        """Run something that belongs to no client: a failure is counted, and everything else continues."""
        try:
            action()
        except Exception:
            self.broker.defects.note(what)

    def _on_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Count an exception of a callback, or another error of the event loop, as a defect."""
        try:
            raise context["exception"]
        except KeyError:
            loop.default_exception_handler(context)
        except Exception:
            self.broker.defects.note(context["message"])

    def _upkeep(self, seconds: float) -> None:
        try:
            self.broker.look_after_log(seconds)
        except Problem as problem:
            log.error("log maintenance failed: %s", problem)
        except Exception:
            self.broker.defects.note("upkeep of the log")
        self._writer.soon()  # a turn has ended, and clients may have got something in it

    async def _start(self, loop: asyncio.AbstractEventLoop) -> None:
        self.broker = Broker(
            self.config.limits,
            time.monotonic,
            random_name,
            LogJournal(),
            self._store,
            self.config.streams,
        )
        for one in self._store.set_aside:
            log.error(
                "an object in the log cannot be opened; it is left out with its messages, all others are served",
                extra={
                    "object": one.name,
                    "position": one.position,
                    "why": one.why,
                    "remedy": f"stop the server, and run: helio log repair {self.config.storage.directory}",
                },
            )
        self.broker.queue_managers = self.queue_managers
        self.broker.pipelines = self.pipelines
        self._declare_queues(self.config)
        for stream in self._store.streams.by_name.values():
            if not stream.is_fed:
                log.warning(
                    "a stream is no longer configured; its messages stay, no new ones are added",
                    extra={"stream": stream.name},
                )
        for name in self._store.streams.taken_over:
            log.warning(
                "a stream that was made while the server ran is now configured; the configuration takes precedence",
                extra={"stream": name},
            )
        self.host = AmqpHost(self.broker, self.config.server.name, time.time)
        self.host.failover = [elsewhere(url) for url in self.config.server.failover]
        self.host.is_managed = True
        self.host.redirects = self.queue_managers.redirects
        self.host.may_be_us = lambda name: may_be_own_host(name, self._host_names())
        self._writer = Writer(
            self.broker,
            loop,
            {
                ListenerProtocol.MQTT: partial(MqttConnection, self.broker),
                ListenerProtocol.AMQP: partial(AmqpConnection, self.host),
            },
            self.watchdog,
        )
        self._reactor = Reactor(loop if isinstance(loop, ClientLoop) else AsyncioFiles(loop), self._writer)
        if isinstance(loop, ClientLoop):
            loop.on_ring(self._release)  # needs the broker; earlier rings wait in the loop
        loop.set_exception_handler(self._on_loop_error)
        self._credentials = Credentials(self.config, self._writer)
        self._sys_topics = SysTopics(self.broker)
        try:
            await self.queue_managers.settled()
            for listener in self.config.listeners:
                opened = Listener(listener, self._writer, self._credentials, self._reactor)
                await opened.start()
                self.listeners.append(opened)
            await self._start_http()
        except BaseException:
            self._close_listeners()
            self._credentials.close()
            raise
        self._ticking = asyncio.ensure_future(self._tick())
        self._reporting = asyncio.ensure_future(self._report())
        self.pipelines.start()
        # Objects that exist now stay, and those of clients have hardly any cycles. Freezing keeps the collector from
        # visiting all of them, including everything loaded from the log, after each few hundred new clients.
        gc.freeze()
        gc.set_threshold(*_COLLECT)
        if isinstance(loop, ClientLoop):
            loop.on_long_turn(self.watchdog.look)  # only now, because starting is one long turn

    def _declare_queues(self, config: Config) -> None:
        """Define or change the queues of the configuration; other queues stay as they are."""
        queues = self.broker.queues
        queues.open_dead_letter_queue(self._started_with.queues.dead_letter_queue)
        queues.created_on_demand = config.queues.create
        declared = {queue.name: queue for queue in config.declared_queues}
        for name, queue in declared.items():
            try:
                queues.declare(queue.definition)
                if queue.kind is QueueKind.LOCAL:
                    self.broker.bindings.declare(queues.find(name), queue.topics)
            except (Problem, Refused) as problem:
                log.error(
                    "a queue cannot be changed to its configuration and stays unchanged: %s",
                    problem,
                    extra={"queue": name},
                )
        for other in queues.all():
            # Bindings of a queue that has a name of its own come from the configuration, unless somebody named them.
            unnamed = [one for one in self.broker.bindings.of(other) if not one.name]
            if other.name not in declared and not other.definition.internal and unnamed:
                self.broker.bindings.declare(other, ())
                log.warning(
                    "a queue is no longer configured; its messages stay, no new ones come from topics",
                    extra={"queue": other.name},
                )
        self._tell_of_others(declared)

    def _tell_of_others(self, declared: Container[str]) -> None:
        """Log queues that were defined while the server ran, or are no longer in the configuration."""
        queues = self.broker.queues
        own = {queues.dead_letter_queue, *(definition.name for definition in SYSTEM_QUEUES)}
        others = [
            one.name
            for one in queues.definitions()
            if one.name not in declared and one.name not in own and not (one.temporary and one.kind is QueueKind.LOCAL)
        ]
        if others:
            named = " ".join(others[:_NAMED])
            log.info(
                "queues that are not in the configuration were kept", extra={"number": len(others), "queues": named}
            )

    async def _start_http(self) -> None:
        http = self.config.http
        if not http.enabled:
            return
        stream_pages = StreamPages(Path(self.config.storage.directory))
        making = StreamMaking(self.broker, self._writer.soon, stream_pages, self._may_make_streams)
        self.http = HttpServer(
            pages(
                self.host,
                lambda: self.config.server.name,
                lambda: self.queue_managers.list()[1:],
                self.pipelines.list,
                self.watchdog,
                lambda: [facts for listener in self.listeners for facts in listener.facts],
            ),
            on_error=self.broker.defects.note,
            folders={"/streams": stream_pages},
            takers={"/streams": {"PUT": making.make, "DELETE": making.delete}},
            most=lambda: most_pages(http.connections),
            is_own_host=lambda host: is_own_host(host, (self.config.http.host, *self.config.http.hosts)),
            watchdog=self.watchdog,
        )
        self._writer.pages = self.http.count
        try:
            await self.http.start(http.host, http.port)
        except OSError as error:
            raise cannot_listen("http", "[http]", address_text(http.host, http.port), error) from None

    def _host_names(self) -> list[str]:
        """Names of this machine in the configuration."""
        return [*self.config.http.hosts, *(listener.host for listener in self.config.listeners)]

    def _pages_url(self) -> str:
        """The URL of the pages for programs on this machine; empty if there are none."""
        if self.http is None:
            return ""
        return f"http://{address_from_here(*self.http.addresses[0])}"

    def _may_make_streams(self) -> bool:
        return self.config.http.make_streams

    @property
    def addresses(self) -> list[str]:
        """Every address that clients or operators can reach, as URLs."""
        found = [address for listener in self.listeners for address in listener.addresses]
        if self.http is not None:
            found += [f"http://{address_text(host, port)}/" for host, port in self.http.addresses]
        return found

    def facts(self) -> dict[str, Any]:
        """The state and figures of this process as a queue manager."""
        queues = self.broker.queues.all()
        return {
            "name": self.config.server.name,
            "state": "running",
            "pid": os.getpid(),
            "addresses": self.addresses,
            "queues": sum(not (queue.definition.internal or queue.definition.temporary) for queue in queues),
            "depth": sum(queue.depth for queue in queues),
            "restarts": 0,
        }

    def reload(self) -> None:
        """Read the configuration file again and use what can be changed while clients are connected.

        A mistake in it leaves everything as it was.
        """
        try:
            new = configuration.load_config(self.config.source)
            if self._queue_manager is not None:
                new = configuration.queue_manager_config(new, self._queue_manager)
            staying = self._staying(new)
            # All that can be wrong is found before anything is changed.
            for listener, config in staying:
                listener.check(config)
            self._credentials.reload(new)
            for listener, config in staying:
                listener.reload(config)
        except Problem as problem:
            log.error("reload failed, the old configuration stays in force: %s", problem)
            return
        for key in configuration.restart_needed(self._started_with, new):
            log.warning("%s has changed; the change needs a restart", key)
        configure_logging(new.log.level, new.log.format, self._queue_manager)
        self.broker.limits = new.limits
        self.broker.memory.set_limit(new.limits.memory)
        self.host.failover = [elsewhere(url) for url in new.server.failover]
        self._declare_queues(new)
        self._writer.flush()
        self.config = new
        self.queue_managers.reload()
        self.pipelines.reload(new)
        log.info("configuration reloaded", extra={"file": str(new.source or "defaults")})

    def _staying(self, new: Config) -> list[tuple[Listener, ListenerConfig]]:
        """The listeners that a new configuration has too, with their new rules; others keep theirs until a restart.

        It is the address that counts, not the place in the file: rules must not move to another listener because one
        was put before it.
        """
        left = list(new.listeners)
        staying = []
        for listener in self.listeners:
            config = next((config for config in left if listener.is_at(config)), None)
            if config is not None:
                left.remove(config)
                staying.append((listener, config))
        return staying

    async def stop(self) -> None:
        """Accept no more clients, disconnect the others, let them read their last bytes, and close.

        Pipelines are clients that the server has started itself: they complete their current batch before all that.
        """
        await self.pipelines.stop()
        self._close_listeners()
        managers_stopped = asyncio.ensure_future(self.queue_managers.stop())
        for task in (self._ticking, self._reporting):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        self.broker.stopping = True
        await self._writer.close_all(Reason.SERVER_SHUTTING_DOWN, "the server is stopping", _GOODBYE)
        if self.http is not None:
            await self.http.close()
        self._credentials.close()
        self._store.close()
        await managers_stopped

    def _close_listeners(self) -> None:
        for listener in self.listeners:
            listener.close()

    async def _tick(self) -> None:
        watchdog = systemd.watchdog_interval()
        next_watchdog = next_retention = 0.0
        while True:
            await asyncio.sleep(_TICK)
            now = time.monotonic()
            self.watchdog.mark(lambda: {"what": "timers and upkeep of the log"})
            await self._run_timers(now)
            if now >= next_retention:
                next_retention = now + _RETENTION
                self._attempt("retention of streams", self.broker.retain_streams)
            self._attempt("the end of a turn", self._writer.flush)
            await self._upkeep_of_tick()
            self._attempt("the index of streams", self._update_index)
            if watchdog is not None and now >= next_watchdog:
                systemd.watchdog()
                next_watchdog = now + watchdog

    async def _run_timers(self, now: float) -> None:
        """Run timers that are due, in slices, because many may be due at once."""
        while self.broker.timers.run(now, _for_a_slice()):
            self._attempt("the end of a turn", self._writer.flush)
            await asyncio.sleep(0)
            self.watchdog.mark(lambda: {"what": "timers"})

    async def _upkeep_of_tick(self) -> None:
        """Maintain the log in small steps; stop early if there is nothing to do, or if it waits for the disk."""
        until = time.monotonic() + _UPKEEP
        began = 0.0
        while began < until:
            began = time.monotonic()
            self.watchdog.mark(lambda: {"what": "upkeep of the log"})
            self._upkeep(_UPKEEP_AT_ONCE)
            if time.monotonic() < began + _UPKEEP_AT_ONCE:
                return
            await asyncio.sleep(0)

    async def _report(self) -> None:
        while True:
            interval = self.config.sys_topics.interval
            if interval:
                self.watchdog.mark(lambda: {"what": "figures for $SYS"})
                self._attempt("publishing $SYS", self._sys_topics.publish)
                self._attempt("the end of a turn", self._writer.flush)
            await asyncio.sleep(interval or 1)
