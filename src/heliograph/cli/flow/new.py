"""Make a folder with a small, complete flow and its test cases, as a starting point.

routing     a Filter sends orders to one of two queues; a parameter that differs between environments
transform   a Compute makes JSON of XML, with a loop
enrich      a Compute looks something up in a database, a Database node counts
http        requests with JSON, answers, and answers when something is wrong
"""

import argparse
import re
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from heliograph.errors import InvalidInput, StorageError

EXAMPLES = """\
  helio flow new orders
  helio flow new invoices --kind transform
"""

KINDS = ("routing", "transform", "enrich", "http")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments of `helio flow new`."""
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder to make; nothing is ever overwritten")
    parser.add_argument("--kind", choices=KINDS, default=KINDS[0], help=f"the kind of flow (default: {KINDS[0]})")


def run(args: argparse.Namespace) -> int:
    """Write the files."""
    folder: Path = args.folder
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"{folder} exists already, and nothing is overwritten; name a folder that is new or empty")
    templates = files("heliograph.cli.flow") / "templates"
    texts = dict(_texts(templates / args.kind, Path()))
    about = re.search(r"^description: (.*)$", texts[Path("flow.yaml")], re.MULTILINE)
    texts[Path("README.md")] = (templates / "README.md").read_text("utf-8")
    words = {"name": _name(folder), "folder": str(folder), "about": about.group(1) if about else ""}
    for path, text in texts.items():
        file = folder / path
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(_filled(text, words), "utf-8")
        except OSError as error:
            raise StorageError(f"{file} cannot be written: {error.strerror}") from error
        print(file)
    print(f"\nNext: helio flow test {folder}")
    return 0


def _texts(folder: Traversable, path: Path) -> list[tuple[Path, str]]:
    """All files below a folder, by path."""
    found: list[tuple[Path, str]] = []
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        if entry.is_dir():
            found += _texts(entry, path / entry.name)
        else:
            found.append((path / entry.name, entry.read_text("utf-8")))
    return found


def _name(folder: Path) -> str:
    """A flow's name has to be one word, whatever its folder is called."""
    return re.sub(r"[^\w.-]+", "-", folder.absolute().name).strip("-") or "flow"


def _filled(text: str, words: dict[str, str]) -> str:
    return re.sub(r"@(name|folder|about)@", lambda match: words[match.group(1)], text)
