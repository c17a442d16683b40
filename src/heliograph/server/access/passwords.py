"""User names and passwords: the file that holds them, and the checker that the server asks."""

import base64
import binascii
import hashlib
import hmac
import os
import re
import secrets
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Self

from heliograph.common.bounded_dict import BoundedDict
from heliograph.server.errors import PasswordFileError, PasswordFileUnusable

SALT_BYTES = 16
HASH_BYTES = 32
MEMO_SIZE = 100_000
WRONG_MEMO_SIZE = 10_000


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one try, in scrypt's terms: memory is 128 * n * r bytes, time grows with n * r * p."""

    n: int = 16384
    r: int = 8
    p: int = 1

    @property
    def memory(self) -> int:
        """Bytes that one try takes."""
        return 128 * self.r * (self.n + self.p + 2)

    @property
    def bearable(self) -> bool:
        """Whether scrypt accepts these numbers and a try stays below 256 MB: a file must not be able to sink us."""
        power_of_two = self.n > 1 and self.n & (self.n - 1) == 0
        return power_of_two and self.r > 0 and 0 < self.p <= 64 and self.memory <= 256 * 1024 * 1024


DEFAULT_COST = Cost()

_HASH_FORM = re.compile(r"\$scrypt\$n=(\d{1,9}),r=(\d{1,9}),p=(\d{1,9})\$([^$]+)\$([^$]+)", re.ASCII)


@dataclass(frozen=True, slots=True)
class PasswordHash:
    """What is kept of a password."""

    cost: Cost
    salt: bytes
    digest: bytes

    @classmethod
    def of(cls, password: bytes, cost: Cost) -> Self:
        """The hash of a password, with fresh salt."""
        salt = secrets.token_bytes(SALT_BYTES)
        return cls(cost, salt, _scrypt(password, salt, cost))

    @classmethod
    def parse(cls, text: str) -> Self:
        """The hash that `str` wrote; ValueError if it is none."""
        parts = _HASH_FORM.fullmatch(text)
        if not parts:
            raise ValueError("expected $scrypt$n=...,r=...,p=...$salt$hash after the user name")
        cost = Cost(*(int(number) for number in parts.groups()[:3]))
        if not cost.bearable:
            raise ValueError("expected n to be a power of two, and a cost of at most 256 MB")
        try:
            salt, digest = (base64.b64decode(part, validate=True) for part in parts.groups()[3:])
        except binascii.Error:
            raise ValueError("expected salt and hash in base64") from None
        if len(digest) != HASH_BYTES:
            raise ValueError(f"expected a hash of {HASH_BYTES} bytes, found {len(digest)}")
        return cls(cost, salt, digest)

    def __str__(self) -> str:
        cost, salt, digest = self.cost, base64.b64encode(self.salt).decode(), base64.b64encode(self.digest).decode()
        return f"$scrypt$n={cost.n},r={cost.r},p={cost.p}${salt}${digest}"

    def fits(self, password: bytes) -> bool:
        """Whether this is the hash of that password; takes as long either way."""
        return hmac.compare_digest(_scrypt(password, self.salt, self.cost), self.digest)


def _scrypt(password: bytes, salt: bytes, cost: Cost) -> bytes:
    # The HMAC inside scrypt fills short keys up with zeros, so a password and the same with zeros behind it would fit
    # each other; an end mark keeps them apart.
    marked = password + b"\x01"
    # OpenSSL counts a little more memory than the formula does, and refuses at the limit.
    memory = 2 * cost.memory + 1024 * 1024
    return hashlib.scrypt(marked, salt=salt, n=cost.n, r=cost.r, p=cost.p, dklen=HASH_BYTES, maxmem=memory)


def name_mistake(name: str) -> str | None:
    """Why a user name cannot stand in a password file, or None if it can."""
    if not name:
        return "expected a user name, found an empty one"
    if name.startswith("#"):
        return "expected a user name that does not start with '#', which starts a comment"
    bad = next((character for character in name if character == ":" or not character.isprintable()), None)
    return bad and f"expected a user name without colons and control characters, found {bad!r}"


class PasswordFile:
    """A password file: one line per user, `name:$scrypt$...`; empty lines and lines that start with # are comments."""

    def __init__(self, path: Path) -> None:
        """An empty file, not written yet; `load` reads an existing one."""
        self._path = path
        self._lines: list[str] = []
        self._hashes: dict[str, PasswordHash] = {}
        self._decoy = PasswordHash(DEFAULT_COST, secrets.token_bytes(SALT_BYTES), secrets.token_bytes(HASH_BYTES))

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read a file; PasswordFileError names the file, and the line if one is bad, but never shows a hash."""
        file = cls(path)
        try:
            with path.open(encoding="utf-8") as lines:
                file._lines = [line.removesuffix("\n") for line in lines]
        except OSError as error:
            raise PasswordFileUnusable(f"{path}: expected a readable password file: {error.strerror}") from None
        except UnicodeDecodeError:
            raise PasswordFileError(f"{path}: expected a password file in UTF-8") from None
        for number, line in enumerate(file._lines, 1):
            try:
                file._read_line(line)
            except ValueError as error:
                raise PasswordFileError(f"{path}:{number}: {error}") from None
        return file

    def _read_line(self, line: str) -> None:
        name = _name_on(line)
        if name is None:
            return
        if mistake := name_mistake(name):
            raise ValueError(mistake)
        if name in self._hashes:
            raise ValueError(f"expected each user once, found {name} again")
        self._hashes[name] = PasswordHash.parse(line[len(name) + 1 :])
        self._decoy = replace(self._decoy, cost=self._hashes[name].cost)

    @property
    def names(self) -> list[str]:
        """The users, in the order of the file."""
        return list(self._hashes)

    def check(self, name: str, password: bytes) -> bool:
        """Whether this is the user's password. Unknown users take as long as known ones: timing tells nothing."""
        known = self._hashes.get(name)
        fits = (known or self._decoy).fits(password)
        return fits and known is not None

    def set_password(self, name: str, password: bytes, cost: Cost = DEFAULT_COST) -> None:
        """Add a user or change the password of one."""
        if mistake := name_mistake(name):
            raise PasswordFileError(mistake)
        self._hashes[name] = PasswordHash.of(password, cost)
        line = f"{name}:{self._hashes[name]}"
        if name in map(_name_on, self._lines):
            self._lines = [line if _name_on(old) == name else old for old in self._lines]
        else:
            self._lines.append(line)

    def remove(self, name: str) -> None:
        """Take a user out; PasswordFileError if there is no such user."""
        if name not in self._hashes:
            raise PasswordFileError(f"{self._path}: expected a user of this file, found {name}")
        del self._hashes[name]
        self._lines = [line for line in self._lines if _name_on(line) != name]

    def save(self) -> None:
        """Replace the file in one step: a server that reads it meanwhile sees the old one or the new one.

        A new file can be read by its owner alone; an existing one keeps its owner and mode, since the server that
        reads it may run as another user than the one who edits it.
        """
        path = self._path.resolve()  # a symbolic link goes on pointing to the file
        try:
            descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
            try:
                with os.fdopen(descriptor, "w", encoding="utf-8") as new:
                    if path.exists():
                        _take_over(path, descriptor)
                    new.writelines(f"{line}\n" for line in self._lines)
                    new.flush()
                    os.fsync(descriptor)
                Path(name).replace(path)
            except BaseException:
                Path(name).unlink()
                raise
        except OSError as error:
            raise PasswordFileUnusable(f"{self._path}: cannot write the password file: {error.strerror}") from None


def _name_on(line: str) -> str | None:
    """The user that a line is about; None for a comment."""
    if not line.strip() or line.startswith("#"):
        return None
    return line.partition(":")[0]


def _take_over(path: Path, descriptor: int) -> None:
    """Give an open file the owner and mode of another."""
    status = path.stat()
    os.fchown(descriptor, status.st_uid, status.st_gid)
    os.fchmod(descriptor, status.st_mode & 0o777)


class _InForce(NamedTuple):
    """The file that counts now, with the answers it gave; replaced together, so that none outlives the file."""

    file: PasswordFile | None
    right: BoundedDict[bytes, None]
    wrong: BoundedDict[bytes, None]


class PasswordChecker:
    """Answers whether a user's password is right.

    A try costs about 50 ms of CPU on purpose. So that thousands of devices that come back after a break do not queue
    up for it, nor one that tries the same wrong password for ever, recent answers are remembered: ask `known` first,
    and only if it does not know, `check` in a worker thread. Right and wrong ones have room of their own: whoever
    tries many wrong passwords must not make the right ones forgotten.
    """

    def __init__(self, path: Path | None, memo_size: int = MEMO_SIZE) -> None:
        """Without a file there are no users, and every answer is no."""
        self._memo_size = memo_size
        self._memo_key = secrets.token_bytes(32)  # the memo is of no use outside this process
        self._memo_lock = threading.Lock()
        self.reload(path)

    def reload(self, path: Path | None) -> None:
        """Read the file again, or another, and forget past answers; after PasswordFileError the old one is in force."""
        file = PasswordFile.load(path) if path else None
        self._in_force = _InForce(file, BoundedDict(self._memo_size), BoundedDict(WRONG_MEMO_SIZE))

    def known(self, name: str, password: bytes) -> bool | None:
        """The answer, if this very pair was asked for recently, or else None; costs next to nothing."""
        token = self._token(name, password)
        _, right, wrong = self._in_force
        return True if token in right else False if token in wrong else None

    def check(self, name: str, password: bytes) -> bool:
        """Whether this is the user's password. Slow; meant for a worker thread, where others run on meanwhile."""
        file, right, wrong = self._in_force
        fits = file is not None and file.check(name, password)
        memo = right if fits else wrong
        with self._memo_lock:
            memo[self._token(name, password)] = None
        return fits

    def _token(self, name: str, password: bytes) -> bytes:
        encoded = name.encode("utf-8")
        # The length keeps the users "ab" with password "c" and "a" with "bc" apart.
        return hmac.digest(self._memo_key, len(encoded).to_bytes(4, "big") + encoded + password, "sha256")
