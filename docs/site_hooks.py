"""What `make docs` does to pages beyond what mkdocs does (`hooks` in mkdocs.yml).

The pages are written so that they also read well as files. These things differ on the site:

- CONTRIBUTING.md and its like are outside of docs/; the site shows them under `project/`.
- A link to a source file or an example leads nowhere on the site; its text stays.
- The front page has no navigation beside it.
- Words behind the language of a block of code, which tests read (`yaml model orders`), become the block's title.
"""

import os
import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
PROJECT = {name: f"project/{name.lower()}" for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")}
"""Pages beside the folder of documents, and where the site has them."""

_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s#]+)(#[^)\s]*)?\)")
_TITLED = re.compile(r"^```(\w+) ([^\n]+)$", re.MULTILINE)
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig, **_: Any) -> Files:
    """Adds the pages of the project."""
    for name, uri in PROJECT.items():
        files.append(File.generated(config, uri, content=(ROOT / name).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """The text of a page with links and titles as the site needs them."""
    uri = page.file.src_uri
    if uri == "index.md":
        page.meta["hide"] = ["navigation"]
    project = {uri: name for name, uri in PROJECT.items()}
    home = posixpath.dirname(project.get(uri, f"docs/{uri}"))
    parts, at = [], 0
    for fenced in _FENCED.finditer(markdown):
        parts += [_with_links(markdown[at : fenced.start()], uri, home), _TITLED.sub(_titled, fenced[0], count=1)]
        at = fenced.end()
    return "".join([*parts, _with_links(markdown[at:], uri, home)])


def _titled(fence: re.Match[str]) -> str:
    return f'```{{ .{fence[1]} title="{fence[2]}" }}'


def _with_links(text: str, uri: str, home: str) -> str:
    def link(found: re.Match[str]) -> str:
        label, path, anchor = found[1], found[2], found[3] or ""
        if re.match(r"[a-z]+:", path):
            return found[0]
        target = posixpath.normpath(posixpath.join(home, path))
        if target.startswith("docs/"):
            target = target.removeprefix("docs/")
        elif target in PROJECT:
            target = PROJECT[target]
        elif target == "README.md":
            target = "index.md"
        elif (ROOT / target).exists():
            return label
        return f"[{label}]({posixpath.relpath(target, posixpath.dirname(uri) or os.curdir)}{anchor})"

    return _LINK.sub(link, text)
