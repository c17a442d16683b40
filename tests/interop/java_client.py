"""Qpid JMS itself: a JVM that runs test methods by name (tests/interop/java)."""

import queue
import re
import subprocess
import threading
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

from certificates import Pair
from tools import missing, program

JAVA = Path(__file__).parent / "java"
SOURCES = JAVA / "src" / "main" / "java" / "heliograph" / "interop"
STORE_PASSWORD = "changeit"
PATIENCE = 60.0
"""Seconds for one test method; each of them gives up earlier by itself."""

_QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto", "-Xmx256m")


def cases() -> list[str]:
    """All test methods, as "CLASS METHOD"."""
    found = []
    for file in sorted(SOURCES.glob("*Test.java")):
        found += [f"{file.stem} {name}" for name in re.findall(r"@Test\s+void (\w+)\(", file.read_text())]
    return found


def java(main_class: str, *words: str, **properties: str) -> list[str]:
    """The command line of a program of ours with Qpid JMS."""
    classpath = JAVA / "target" / "classpath"
    if not classpath.exists():
        missing("Qpid JMS", "run `make java-clients` (needs a JDK, version 17 or newer, and Maven)")
    classes = f"{JAVA / 'target' / 'classes'}:{classpath.read_text().strip()}"
    told = [f"-D{name}={value}" for name, value in properties.items()]
    command = program("java", "install a JDK, version 17 or newer (on Debian: default-jdk-headless)")
    return [command, *_QUICK_START, *told, "-cp", classes, f"heliograph.interop.{main_class}", *words]


class JavaRunner:
    """Runs one test method after the other."""

    def __init__(self, **properties: str) -> None:
        self._process = subprocess.Popen(
            java("Runner", **properties), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self._lines: queue.Queue[str] = queue.Queue()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._lines.put(line.decode().rstrip("\n"))
        self._lines.put("ended")

    def run(self, case: str, url: str, own_queue: str) -> None:
        """Run a method; AssertionError with Java's stack trace if it fails."""
        assert self._process.stdin
        self._process.stdin.write(f"{case} {url} {own_queue}\n".encode())
        self._process.stdin.flush()
        trace = []
        while (line := self._lines.get(timeout=PATIENCE)) not in {"passed", "failed", "ended"}:
            trace.append(line)
        assert line == "passed", f"{case} {line}:\n" + "\n".join(trace)

    def close(self) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(PATIENCE)
        finally:
            self._process.kill()
        self._thread.join()
        assert self._process.stdout
        self._process.stdout.close()


def trust_store(folder: Path, authority: Path) -> Path:
    """What Java wants to know an authority by."""
    certificate = pkcs12.PKCS12Certificate(x509.load_pem_x509_certificate(authority.read_bytes()), b"authority")
    encryption = serialization.BestAvailableEncryption(STORE_PASSWORD.encode())
    file = folder / "trust.p12"
    file.write_bytes(pkcs12.serialize_java_truststore([certificate], encryption))
    return file


def key_store(folder: Path, pair: Pair) -> Path:
    """A certificate with its key, as Java reads it."""
    key = serialization.load_pem_private_key(pair.key.read_bytes(), None)
    certificate = x509.load_pem_x509_certificate(pair.cert.read_bytes())
    encryption = serialization.BestAvailableEncryption(STORE_PASSWORD.encode())
    file = folder / "keys.p12"
    file.write_bytes(pkcs12.serialize_key_and_certificates(b"client", key, certificate, None, encryption))
    return file
