"""The thread between a broker and a spool: messages are written to a segment, and then they are acknowledged."""

import json
import logging
import os
import threading
import time
import uuid
from pathlib import Path

from heliograph.common import private_files
from heliograph.common.backoff import Backoff
from heliograph.pipeline.errors import BrokerLost, PipelineError, SpoolInUse, UnsupportedVersion
from heliograph.pipeline.spool.broker import Broker
from heliograph.pipeline.spool.options import SpoolOptions
from heliograph.pipeline.spool.segments import Spool

LOG = logging.getLogger("heliograph.pipeline")
_IDENTITY = "spool.json"
_SEGMENT_SIZE = 4 << 20
_GATHER = 0.02
"""Seconds that messages of QoS 0 gather; nobody waits for their acknowledgement."""
_LOOK = 0.1
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_UNLOCKING = 10.0
"""Seconds that the process of a query that was stopped may take to end."""


class Receiver:
    """Receives for one query, until it is stopped."""

    def __init__(self, options: SpoolOptions) -> None:
        """Connect and subscribe; a `Problem` if that is not possible now."""
        self._options = options
        self.spool = _open_spool(Path(options.spool))
        self._problem: Exception | None = None
        self._stopping = threading.Event()
        try:
            self._identity = _Identity(Path(options.spool), options)
            self._version = 5
            self._broker: Broker | None = self._connect()
        except BaseException:
            self.spool.close()
            raise
        self._thread = threading.Thread(target=self._run, name="heliograph-spool", daemon=True)
        self._thread.start()

    def check(self) -> None:
        """Raise the error that ended receiving, if there was one."""
        if self._problem is not None:
            raise self._problem

    def stop(self) -> None:
        """End the connection. What was not acknowledged comes again with the next."""
        self._stopping.set()
        self._thread.join()
        self.spool.close()

    def _run(self) -> None:
        backoff = Backoff(_FIRST_PAUSE, _LONGEST_PAUSE)
        try:
            while not self._stopping.is_set():
                try:
                    if self._broker is None:
                        self._broker = self._connect()
                    backoff.succeeded()
                    self._receive(self._broker)
                    self._broker.close(orderly=True)
                except BrokerLost as problem:
                    LOG.warning("%s; trying again", problem)
                    if self._broker is not None:
                        self._broker.close()
                    self._broker = None
                    self._stopping.wait(backoff.pause())
        except Exception as problem:  # whatever it is, the query must not wait for ever
            self._problem = problem
            if self._broker is not None:
                self._broker.close()

    def _connect(self) -> Broker:
        try:
            broker = self._enter(self._version)
        except UnsupportedVersion:
            if self._version == 4:
                raise
            self._version = 4
            broker = self._enter(4)
        if not (broker.session_present and self._identity.subscribed):
            try:
                broker.subscribe()
            except BaseException:
                broker.close()
                raise
            self._identity.note_subscribed()
        return broker

    def _enter(self, version: int) -> Broker:
        return Broker(self._options, self._identity.client_id, version, self.spool.held)

    def _receive(self, broker: Broker) -> None:
        """Take messages until it is time to stop."""
        inbox, since = broker.inbox, time.monotonic()
        while not self._stopping.is_set():
            if self.spool.size >= self._options.max_spool_bytes:
                # Not reading is what tells the broker to wait.
                self.spool.roomier.clear()
                if self.spool.size >= self._options.max_spool_bytes:
                    self.spool.roomier.wait(_LOOK)
                broker.keep_alive(reading=False)
                continue
            patience = _GATHER if inbox.has_gathered else _LOOK
            there_is_more = broker.receive(0 if inbox.answers_wait else patience) and inbox.waiting < _SEGMENT_SIZE
            now = time.monotonic()
            if not inbox.has_gathered:
                since = now
            elif not there_is_more or now - since > _GATHER:
                self._keep(broker)
                since = time.monotonic()
            broker.keep_alive(reading=True)
        self._keep(broker)

    def _keep(self, broker: Broker) -> None:
        gathered = broker.inbox.take()
        if gathered.changed:
            self.spool.append(gathered.rows, gathered.held)
        if gathered.answers:
            broker.send(gathered.answers)


def _open_spool(directory: Path) -> Spool:
    deadline = time.monotonic() + _UNLOCKING
    while True:
        try:
            return Spool(directory)
        except SpoolInUse:
            if time.monotonic() > deadline:
                raise
            time.sleep(_LOOK)


def client_id_of(directory: Path) -> str:
    """The client id that a spool uses at its broker."""
    known: dict[str, str] = json.loads((directory / _IDENTITY).read_text())
    return known["client_id"]


class _Identity:
    """The client id of a spool. It must never change, because the broker keeps messages for it."""

    def __init__(self, directory: Path, options: SpoolOptions) -> None:
        self._file = directory / _IDENTITY
        wanted = {"server": options.server, "topic": options.topic, "qos": options.qos}
        if self._file.exists():
            known = json.loads(self._file.read_text())
            for name, value in wanted.items():
                if known[name] != value:
                    raise PipelineError(
                        f'{directory} is the spool of {name} "{known[name]}", not of "{value}"; '
                        "expected another directory as option spool"
                    )
            if options.client_id not in {"", known["client_id"]}:
                raise PipelineError(
                    f'{directory} is the spool of client_id "{known["client_id"]}", not "{options.client_id}"'
                )
        else:
            client_id = options.client_id or f"heliograph-{uuid.uuid4().hex[:12]}"
            known = {**wanted, "client_id": client_id, "subscribed": False}
        self._known = known
        self.client_id: str = known["client_id"]
        self._write()

    @property
    def subscribed(self) -> bool:
        """Whether the subscriptions were made; they last as long as the broker keeps the session."""
        return bool(self._known["subscribed"])

    def note_subscribed(self) -> None:
        if not self.subscribed:
            self._known["subscribed"] = True
            self._write()

    def _write(self) -> None:
        beside = self._file.with_suffix(".unfinished")
        with open(beside, "w", opener=private_files.opener) as file:
            json.dump(self._known, file)
            file.flush()
            os.fsync(file.fileno())
        beside.rename(self._file)
