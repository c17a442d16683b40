"""Define, alter, display, clear and delete queues with the commands that queue administrators know (MQSC)."""

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from heliograph.cli.queues.mqsc_commands import Interpreter
from heliograph.cli.queues.mqsc_parser import Assembler, CommandText
from heliograph.cli.shared.amqp import add_url, management
from heliograph.errors import InvalidInput, StorageError

_PROMPT, _MORE = "mqsc> ", "    > "
_FAILED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio mqsc`."""
    parser.add_argument("file", nargs="?", metavar="FILE", help="commands to run (default: standard input)")
    add_url(parser)


def run(args: argparse.Namespace) -> int:
    """Run the commands; 0 if all of them were done."""
    with management(args.url) as ask:
        if args.file is None and sys.stdin.isatty():
            return _converse(Interpreter(ask, _tell, "mqsc"))
        source = args.file or "standard input"
        interpreter = Interpreter(ask, _tell, source)
        _run_all(interpreter, _lines(args.file))
        print(interpreter.summary)
        return 0 if interpreter.all_done else _FAILED


def _tell(line: str) -> None:
    print(line, flush=True)


def _lines(file: str | None) -> Iterable[str]:
    if file is None:
        return sys.stdin
    try:
        return Path(file).read_text("utf-8").splitlines()
    except OSError as error:
        raise StorageError(f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{file}: expected UTF-8, found something else") from None


def _run_all(interpreter: Interpreter, lines: Iterable[str]) -> None:
    assembler = Assembler()
    for line in lines:
        command = assembler.take(line)
        if command is not None and not _run_shown(interpreter, command):
            return
    if (unfinished := assembler.end()) is not None:
        _run_shown(interpreter, unfinished)


def _run_shown(interpreter: Interpreter, command: CommandText) -> bool:
    """Run a command of a file, with its lines above what came of it."""
    number = interpreter.read + 1
    for place, line in enumerate(command.lines):
        print(f"{number if place == 0 else '':>6} : {line}")
    return interpreter.run(command)


def _converse(interpreter: Interpreter) -> int:
    """Take commands from somebody at a terminal, who sees at once what went wrong."""
    import readline  # noqa: F401, PLC0415 - makes input() remember lines; of use here only

    assembler = Assembler()
    while True:
        try:
            line = input(_MORE if assembler.waiting else _PROMPT)
        except EOFError:
            print()
            return 0
        command = assembler.take(line)
        if command is not None and not interpreter.run(command):
            return 0
