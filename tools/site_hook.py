"""A hook of mkdocs: links of docs/ that leave the site lead to the repository."""

from __future__ import annotations

import posixpath
import re
from typing import Any

# The target of a link or picture that is a path, without its anchor.
_PATH = re.compile(r"(?<=\]\()(?![a-z]+:|#)[^)#\s]+")


def on_page_markdown(markdown: str, *, page: Any, config: Any, **_: Any) -> str:
    """What mkdocs calls with the text of each page."""
    folder = posixpath.join("docs", posixpath.dirname(page.file.src_uri))
    return _PATH.sub(lambda m: linked(folder, m[0], config["repo_url"]), markdown)


def linked(folder: str, target: str, repository: str) -> str:
    """The target of a link in a folder of the repository: as it is if the site has it, which is pages and pictures."""
    path = posixpath.normpath(posixpath.join(folder, target))
    on_site = path.startswith("docs/") and path.endswith((".md", ".png"))
    return target if on_site else f"{repository}/blob/main/{path}"
