"""`helio`: picks the sub-command's module and runs it; errors a user can mend become one line and exit status 1."""

import argparse
import importlib
import os
import sys
from collections.abc import Sequence

from heliograph import __version__
from heliograph.common import terminal
from heliograph.errors import Problem

# Sub-command -> one line of help. Each is a module of this package with add_arguments(parser) and run(args) -> int;
# only the one that is called gets imported, so that `helio pub` starts as fast as Python does.
COMMANDS = {
    "serve": "start the server",
    "config": "check or show a configuration file",
    "passwd": "manage a password file",
    "pub": "publish messages to any MQTT server",
    "sub": "subscribe to topics and print what arrives",
    "queue": "look at queues, define them, put and get messages",
    "stream": "look at streams, read their messages, delete them",
    "qm": "look at queue managers, start and stop them",
    "mqsc": "run the commands of queue administrators",
    "log": "look at the files of a log, and check them",
    "flow": "write, check, test and run message flows",
    "pipeline": "run flows and jobs on Spark, and see how they are doing",
    "lab": "put load on any broker, measure, find its peak, report",
    "bench": "measure this server beside its peers, and what else has a figure",
    "soak": "put a steady load on a server for a long time; fail if it grows",
}

_FOLDERS = {
    "serve": "server",
    "config": "server",
    "passwd": "server",
    "pub": "mqtt",
    "sub": "mqtt",
    "queue": "queues",
    "mqsc": "queues",
    "stream": "log",
    "soak": "bench",
    "qm": "queues",
}
"""Folders of sub-commands that have none of their own name."""

# Sub-commands that need more than the core install, and the extra that brings it.
EXTRAS = {
    "bench": "lab",
    "bench flows": "flow,lab",
    "bench spark": "flow,lab,spark",
    "bench scores": "spark",
    "soak": "lab",
    "lab": "flow,lab,spark",
    "flow": "flow",
    "pipeline": "flow,spark",
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run `helio` with these arguments (the process's own by default) and return the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    terminal.guard()
    try:
        try:
            return _no_command(words) if not words or words[0] not in COMMANDS else _command(words[0], words[1:])
        finally:
            sys.stdout.flush()  # a reader that has gone must be noticed here, not when Python ends
    except BrokenPipeError:  # the reader of our output has gone, as in `helio sub ... | head`
        _drop_output()
        return 0


def _drop_output() -> None:
    """Let what is left in the buffers go nowhere, so that Python does not fail to write it when it ends."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BrokenPipeError:
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _command(name: str, rest: Sequence[str]) -> int:
    try:
        return _run(name, rest)
    except ModuleNotFoundError as missing:
        if name not in EXTRAS or str(missing.name).startswith("heliograph"):
            raise
        extra = EXTRAS.get(" ".join([name, *rest[:1]]), EXTRAS[name])
        print(
            f"helio {name}: the package {str(missing.name).partition('.')[0]} is missing; install the extra: "
            f"pip install 'heliograph[{extra}]' (in a checkout: pip install -e '.[{extra}]')",
            file=sys.stderr,
        )
        return 1
    except Problem as problem:
        print(f"helio {name}: {problem}", file=sys.stderr)
        return 1
    except OSError as error:
        if not error.filename:
            raise
        print(f"helio {name}: cannot use {error.filename}: {(error.strerror or str(error)).lower()}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _run(name: str, words: Sequence[str]) -> int:
    module = importlib.import_module(f"heliograph.cli.{_FOLDERS.get(name, name)}.{name}")
    # pub and sub follow mosquitto's tools, where -h means the host: there only --help asks for help.
    plain_help = name not in {"pub", "sub"}
    parser = argparse.ArgumentParser(prog=f"helio {name}", description=module.__doc__, add_help=plain_help)
    if not plain_help:
        parser.add_argument("--help", action="help", help="show this help and exit")
    module.add_arguments(parser)
    status: int = module.run(parser.parse_args(words))
    return status


def _no_command(words: Sequence[str]) -> int:
    if words and words[0] in {"-V", "--version"}:
        print(f"helio {__version__}")
        return 0
    asked = not words or words[0] in {"-h", "--help", "help"}
    out = sys.stdout if asked else sys.stderr
    if not asked:
        print(f"helio: unknown command '{words[0]}'\n", file=out)
    print("usage: helio COMMAND [options]   (helio COMMAND --help for one command)\n", file=out)
    for name, text in COMMANDS.items():
        print(f"  {name:8} {text}", file=out)
    return 0 if asked else 2


if __name__ == "__main__":
    sys.exit(main())
