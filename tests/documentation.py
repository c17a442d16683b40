"""What stands in documentation: the blocks of code of a file, by kind, and a page whose commands are run in order."""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from configurations import listener
from running import PATIENCE, Lines, RunningServer, Serve, environment, servers

DOCUMENTS = Path(__file__).parents[1] / "docs"
_BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<why>[^\n]*) -->\n\n?)?"
    r"^```(?P<kind>\w*)(?P<title>[^\n]*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A block of code."""

    kind: str
    title: str
    """What stands behind the kind."""
    text: str
    line: int
    not_run: str = ""
    """Why it is not run by a test, if the page says so (`<!-- not run: ... -->` before the block)."""


def blocks(file: str) -> list[Block]:
    """All blocks of a document, in order."""
    text = (DOCUMENTS / file).read_text("utf-8")
    return [
        Block(
            found["kind"],
            found["title"].strip(),
            found["text"],
            text.count("\n", 0, found.start("kind")) + 1,
            found["why"] or "",
        )
        for found in _BLOCK.finditer(text)
    ]


def section(file: str, title: str) -> str:
    """The text under a heading of the second level."""
    text = (DOCUMENTS / file).read_text("utf-8")
    _, _, behind = text.partition(f"\n## {title}\n")
    assert behind, f"{file} has no section {title}"
    return behind.partition("\n## ")[0]


# Pages that are run

_HELIO = """#!/bin/sh
# The page speaks of the default ports; here the server has others.
. "$(dirname "$0")/addresses"
all=" $* "
given() { for option do case "$all" in *" $option "*) return 0 ;; esac; done; return 1; }
case "$1 $2" in
  pub\\ * | sub\\ *) given -p -L --url --help || set -- "$@" -p "$MQTT_PORT" ;;
  queue* | qm* | mqsc*) given --url --help || set -- "$@" --url "$AMQP_URL" ;;
  stream*) given --server --help || set -- "$@" --server "$HTTP_URL" ;;
  "flow run") given --server --help || set -- "$@" --server "$AMQP_URL" ;;
  "pipeline setup") exit 0 ;; # makes starting faster, and takes minutes
  "pipeline run" | "pipeline compare") given --server --help || set -- "$@" --server "$HTTP_URL" ;;
  pipeline*) given --url --help || set -- "$@" --url "$AMQP_URL" ;;
esac
exec "$PYTHON" -m heliograph.cli.main "$@"
"""
_SLEEP = """#!/bin/sh
# What the page waits for takes longer while other tests run.
exec /bin/sleep $((3 * $1))
"""
_PYTHON = """
import sys, traceback
names = {"__name__": "page"}
for file in sys.stdin:
    file = file.strip()
    try:
        exec(compile(open(file).read(), file, "exec"), names)
    except BaseException:
        traceback.print_exc()
        sys.exit(1)
    print(file, flush=True)
"""
_SERVE = re.compile(r"^helio serve(?: --config (\S+))?(?: &)?\s*(?:#.*)?$", re.MULTILINE)


class Page:
    """A page that is read by somebody who does what it says, from top to bottom, in one folder.

    - A line `helio serve` starts a server; if there is none, one runs from the beginning, with all that blocks of TOML
      without a title configure. In either case it is on free ports, and the page's default ports are replaced by these.
    - Blocks of `sh` are run in one shell, blocks of `python` in one interpreter; both must end well.
    - A block whose title is the name of a file is written to it.
    - A block of `text` without a title behind either is what has to be printed: each line of it, where `...` stands for
      anything.
    """

    def __init__(self, file: str, folder: Path) -> None:
        self.file = file
        self.blocks = blocks(file)
        self.printed: list[str] = []
        """What has been printed, by block that was run."""
        self._folder = folder
        self._steps = 0
        self._programs = folder / ".bin"
        self._programs.mkdir()
        (self._programs / "addresses").touch()
        shutil.copytree(DOCUMENTS.parent / "examples", folder / "examples")
        self._server: RunningServer | None = None
        self._shell: _Program | None = None
        self._python: _Program | None = None
        for name, text in {
            "helio": _HELIO,
            "pip": "#!/bin/sh\n",
            "sleep": _SLEEP,
            "python": '#!/bin/sh\nexec "$PYTHON" "$@"\n',
        }.items():
            (self._programs / name).write_text(text)
            (self._programs / name).chmod(0o755)

    def run(self) -> None:
        """Does what the page says."""
        with ExitStack() as stack:
            self._serve: Serve = stack.enter_context(servers(self._folder))
            if not any(_SERVE.search(block.text) for block in self.blocks if block.kind == "sh"):
                self._start("".join(block.text for block in self.blocks if (block.kind, block.title) == ("toml", "")))
            stack.callback(self._end)
            for block in self.blocks:
                if not block.not_run:
                    self._do(block)

    def _do(self, block: Block) -> None:
        where = f"docs/{self.file}:{block.line}"
        if "." in block.title:
            file = self._folder / block.title
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(block.text)
        elif block.kind == "sh":
            for found in _SERVE.finditer(block.text):
                self._start((self._folder / found[1]).read_text() if found[1] else "")
            self._step("sh", _SERVE.sub("", block.text), where)
        elif block.kind == "python":
            self._step("py", block.text, where)
        elif (block.kind, block.title) == ("text", "") and self.printed:
            self._last.expect(block.text.splitlines(), where)

    def _start(self, config: str) -> None:
        server = self._server = self._serve(on_free_ports(config))
        url = server.url("http").rstrip("/")
        addresses = f"MQTT_PORT={server.port}\nAMQP_URL={server.url('amqp')}\nHTTP_URL={url}\n"
        (self._programs / "addresses").write_text(addresses)
        for program in (self._folder / "examples").glob("*.py"):
            program.write_text(self._with_ports(program.read_text()))

    def _step(self, kind: str, text: str, where: str) -> None:
        if not text.strip():
            return
        self._steps += 1
        file = self._folder / f".step-{self._steps}.{kind}"
        file.write_text(self._with_ports(text))
        if kind == "sh":
            self._shell = self._shell or _Program(["bash", "--norc"], self._folder, self._environment())
            command = f". {file} </dev/null\necho {file}\n"
            if self._shell.fresh:
                command = f"set -e -o pipefail\n{command}"
            self._last = self._shell
        else:
            self._python = self._python or _Program(
                [sys.executable, "-u", "-c", _PYTHON], self._folder, self._environment()
            )
            command = f"{file}\n"
            self._last = self._python
        self.printed.append(self._last.run(command, str(file), where))

    def _with_ports(self, text: str) -> str:
        if self._server is None:
            return text
        for scheme, port in ("amqp", 5672), ("http", 15880), ("mqtt", 1883):
            text = text.replace(f"127.0.0.1:{port}", f"127.0.0.1:{self._server.port_of(scheme)}")
        url = self._server.url("http").rstrip("/")
        return text.replace('.format("heliograph")', f'.format("heliograph").option("server", "{url}")')

    def _environment(self) -> dict[str, str]:
        return environment(PATH=f"{self._programs}:{os.environ['PATH']}", PYTHON=sys.executable)

    def _end(self) -> None:
        for program in (self._shell, self._python):
            if program is not None:
                program.end()


class _Program:
    """A shell or an interpreter that does one step after the other."""

    def __init__(self, command: list[str], folder: Path, env: dict[str, str]) -> None:
        self.fresh = True
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=folder,
            env=env,
            start_new_session=True,
        )
        self._out, self._errors = Lines(self._process.stdout), Lines(self._process.stderr)
        self._begin = 0

    def run(self, command: str, done: str, where: str) -> str:
        """Has it do a step; what it printed until it said that this is done."""
        self.fresh = False
        self._begin = len(self._out.text().splitlines())
        assert self._process.stdin is not None
        self._process.stdin.write(command.encode())
        self._process.stdin.flush()
        give_up = time.monotonic() + 6 * PATIENCE
        while done not in self._out.text().splitlines():
            alive = self._process.poll() is None
            assert alive, f"{where} failed:\n{self._out.text()[-2000:]}\n{self._errors.text()[-3000:]}"
            assert time.monotonic() < give_up, f"{where} does not end:\n{self._out.text()[-2000:]}"
            time.sleep(0.01)
        return "\n".join(self._out.text().splitlines()[self._begin : -1])

    def expect(self, lines: list[str], where: str) -> None:
        """Waits until each of these lines has been printed since the last step began."""
        give_up = time.monotonic() + PATIENCE
        wanted = [re.compile(".*".join(map(re.escape, line.rstrip().split("...")))) for line in lines if line.strip()]
        while True:
            printed = [line.rstrip() for line in self._out.text().splitlines()[self._begin :]]
            missing = [line.pattern for line in wanted if not any(map(line.fullmatch, printed))]
            if not missing:
                return
            assert time.monotonic() < give_up, f"{where}: missing {missing} in:\n" + "\n".join(printed)
            time.sleep(0.05)

    def end(self) -> None:
        """Ends it, and what it has started."""
        if self._process.poll() is None:
            os.killpg(self._process.pid, 9)
        self._process.wait()
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._out.close()
        self._errors.close()


def on_free_ports(config: str) -> str:
    """A configuration in which every listener and the pages are on ports that nobody has."""
    tables = re.split(r"^(?=\[)", config, flags=re.MULTILINE)
    written = "".join(map(_on_a_free_port, tables))
    listeners = [table for table in tables if table.startswith("[[listener]]")]
    amqp = ['protocol = "amqp"' in table for table in listeners]
    more = "" if False in amqp else "[[listener]]\nport = 0\n"
    more += "" if True in amqp else listener(protocol="amqp")
    more += "" if "[http]" in config else "[http]\nport = 0\n"
    more += "" if "[storage]" in config else '[storage]\ndirectory = "heliograph-data"\n'
    return f"{written}\n{more}"


def _on_a_free_port(table: str) -> str:
    header, end, rest = table.partition("\n")
    listens = header.partition("#")[0].strip() in {"[[listener]]", "[[queue_manager.listener]]", "[http]"}
    if not listens or '"unix"' in rest:
        return table
    return f"{header}{end}port = 0\n" + re.sub(r"^port = .*\n", "", rest, flags=re.MULTILINE)


def runnable(*folders: str) -> Iterator[str]:
    """The pages in these folders."""
    for folder in folders:
        yield from sorted(f"{folder}/{page.name}" for page in (DOCUMENTS / folder).glob("*.md"))
