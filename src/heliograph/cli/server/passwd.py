"""Add, change, delete or list the users of a password file; a running server reads it again on SIGHUP."""

import argparse
import getpass
import sys
from pathlib import Path

from heliograph.errors import InvalidInput
from heliograph.server import PasswordFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio passwd`."""
    parser.add_argument("file", type=Path, metavar="FILE", help="the password file; made when it does not exist")
    parser.add_argument("user", nargs="?", metavar="USER", help="the user whose password is set")
    parser.add_argument("--stdin", action="store_true", help="take the password from the first line of standard input")
    instead = parser.add_mutually_exclusive_group()
    instead.add_argument("-D", "--delete", action="store_true", help="delete USER instead")
    instead.add_argument("--list", action="store_true", help="list the users instead")


def run(args: argparse.Namespace) -> int:
    """Do what the arguments ask for."""
    if args.list:
        for name in PasswordFile.load(args.file).names:
            print(name)
        return 0
    if args.user is None:
        raise InvalidInput("expected the name of a USER after FILE, or --list")
    if args.delete:
        file = PasswordFile.load(args.file)
        file.remove(args.user)
    else:
        file = PasswordFile.load(args.file) if args.file.exists() else PasswordFile(args.file)
        file.set_password(args.user, _from_stdin() if args.stdin else _from_terminal())
    file.save()
    return 0


def _from_stdin() -> bytes:
    return _not_empty(sys.stdin.buffer.readline().rstrip(b"\r\n"))


def _from_terminal() -> bytes:
    try:
        password = getpass.getpass("Password: ")
        again = getpass.getpass("The same again: ")
    except EOFError:
        raise InvalidInput(
            "expected the password twice, found the end of input; --stdin takes it from a pipe"
        ) from None
    if again != password:
        raise InvalidInput("expected the same password twice, found two different ones")
    return _not_empty(password.encode())


def _not_empty(password: bytes) -> bytes:
    if not password:
        raise InvalidInput("expected a password, found an empty one")
    return password
