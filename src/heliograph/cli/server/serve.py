"""Start the server and run it until Ctrl-C or SIGTERM. SIGHUP reloads the configuration."""

import argparse
import asyncio
import json
import logging
import os
import shutil
import signal
import sys
from pathlib import Path

from heliograph import __version__
from heliograph.server import (
    HAS_EPOLL,
    ClientLoop,
    Server,
    configure_logging,
    load_config,
    queue_manager_config,
    systemd,
)

# Seconds between two looks at whether there is something new to report to the supervisor.
_REPORTING = 1.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", "-c", type=Path, metavar="FILE", help="TOML file (default: built-in defaults)")
    parser.add_argument("--queue-manager", metavar="NAME", help="serve only this queue manager of the configuration")
    # How a server starts its queue managers: reports as JSON on standard output, and the end of standard input ends it.
    parser.add_argument("--supervised", action="store_true", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    settings = load_config(args.config)
    if args.queue_manager is not None:
        settings = queue_manager_config(settings, args.queue_manager)
    configure_logging(settings.log.level, settings.log.format, args.queue_manager)
    for warning in settings.warnings:
        logging.getLogger(__name__).warning(warning)
    with asyncio.Runner(loop_factory=ClientLoop if HAS_EPOLL else None) as runner:
        runner.run(_serve(Server(settings, args.queue_manager), supervised=args.supervised))
    return 0


async def _serve(server: Server, *, supervised: bool) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    if supervised:
        loop.add_reader(sys.stdin.fileno(), stop.set)  # nothing is ever written there: it is the server's end
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until there is something to reload
    await server.start()

    def reload() -> None:
        systemd.reloading()
        server.reload()
        systemd.ready()

    loop.add_signal_handler(signal.SIGHUP, reload)
    reporting = asyncio.ensure_future(_report(server)) if supervised else None
    if reporting is None:
        print(banner(server), flush=True)
    systemd.ready()
    await stop.wait()
    if reporting is not None:
        reporting.cancel()
        loop.remove_reader(sys.stdin.fileno())
    # The end takes a moment: whoever asks again gets it no sooner, but a second Ctrl-C does end it at once.
    loop.remove_signal_handler(signal.SIGTERM)
    loop.remove_signal_handler(signal.SIGINT)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    systemd.stopping()
    if not supervised:
        print("stopping", file=sys.stderr)
    await server.stop()
    # Only the end of the process is left, and another Ctrl-C must not turn that into a failure.
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM, signal.SIGHUP))


async def _report(server: Server) -> None:
    """Report state and figures to the server that started this queue manager: at once, and at each change."""
    told = ""
    while True:
        report = json.dumps(server.facts())
        if report != told:
            print(report, flush=True)
            told = report
        await asyncio.sleep(_REPORTING)


def banner(server: Server) -> str:
    """What the server prints when it is ready: every address, and what to try next."""
    lines = [f"heliograph {__version__} is ready", ""]
    lines += [f"  {address}" for address in server.addresses]
    storage = server.config.storage
    lines += ["", f"Data: {storage.directory} (durability: {storage.durability})"]
    tcp = next((one for one in server.listeners if one.is_plain_mqtt and one.config.anonymous), None)
    if tcp is not None:
        port = "" if tcp.port == 1883 else f"-p {tcp.port} "
        lines += [
            "",
            "Try it from another terminal:",
            f"  {_command()} sub {port}-t 'hello/#' -v",
            f"  {_command()} pub {port}-t hello/world -m 'it works' -q 1",
        ]
    for manager in server.queue_managers.list()[1:]:
        where = ", ".join(manager["addresses"]) or "see the log"
        lines += ["", f"Queue manager {manager['name']} is {manager['state']}: {where}"]
    if server.http is not None:
        page = next(address for address in server.addresses if address.startswith("http:"))
        lines += ["", f"Figures: curl {page}stats   (Prometheus: {page}metrics)"]
    lines += ["Stop with Ctrl-C."]
    return "\n".join(lines)


def _command() -> str:
    """How `helio` can be called from where the user is: by its name if that is found, else by its place."""
    program = Path(sys.argv[0])
    if shutil.which("helio") or program.name != "helio":
        return "helio"
    return os.path.relpath(program)
