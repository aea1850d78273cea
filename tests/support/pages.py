"""The pages that people read, taken apart: headings, links, words of code, blocks, commands and tables.

Used by the tests that hold what the pages say against what the code does.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"

_FENCED = re.compile(r"^( *)```([^\n]*)\n(.*?)^ *```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)
_SEPARATOR = re.compile(r"^\|[ :|-]+\|$")
_CELL = re.compile(r"(?<!\\)\|")


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: what stands behind the fence, and the text in it."""

    language: str
    text: str


@dataclass(frozen=True)
class Page:
    """One page.

    Attributes:
        path: its file.
        text: all of it.
    """

    path: Path
    text: str

    @classmethod
    def read(cls, path: Path) -> Page:
        """The page of a file."""
        return cls(path, path.read_text(encoding="utf-8"))

    @property
    def name(self) -> str:
        """Its path below the repository."""
        return str(self.path.relative_to(ROOT))

    @cached_property
    def prose(self) -> str:
        """The text without fenced blocks."""
        return _FENCED.sub("", self.text)

    @cached_property
    def sentences(self) -> str:
        """The prose on one line, so that no line break is in the way of a search."""
        return " ".join(self.prose.split())

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The fenced blocks."""
        return tuple(Block(found[2].strip(), found[3]) for found in _FENCED.finditer(self.text))

    @property
    def spans(self) -> list[str]:
        """Words of code in the prose."""
        return _SPAN.findall(self.prose)

    @property
    def links(self) -> list[str]:
        """Where links in the prose lead."""
        return _LINK.findall(self.prose)

    @property
    def anchors(self) -> set[str]:
        """What links may point to, as GitHub makes it of headings."""
        return {anchor(heading) for heading in _HEADING.findall(self.prose)}

    def commands(self, program: str = "") -> list[str]:
        """The commands in console blocks, or those of one program, without prompts and comments."""
        consoles = (block.text for block in self.blocks if block.language == "console")
        found = [command for text in consoles for command in _commands(text)]
        return [command for command in found if program in ("", command.split()[0])]

    def manifests(self) -> list[dict[str, Any]]:
        """The objects of its YAML blocks."""
        texts = (block.text for block in self.blocks if block.language == "yaml")
        return [found for text in texts for found in yaml.safe_load_all(text) if found]

    def table(self, *header: str) -> list[list[str]]:
        """The rows of the only table whose header begins with these cells."""
        (found,) = [rows for head, rows in self.tables() if tuple(head[: len(header)]) == header]
        return found

    def tables(self) -> Iterator[tuple[list[str], list[list[str]]]]:
        """The header and the rows of each table."""
        lines = self.prose.splitlines()
        for number, line in enumerate(lines):
            if number and _SEPARATOR.match(line):
                rows = []
                for row in lines[number + 1 :]:
                    if not row.startswith("|"):
                        break
                    rows.append(_cells(row))
                yield _cells(lines[number - 1]), rows


def anchor(heading: str) -> str:
    """Where a link to a heading leads, as GitHub has it."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.replace("`", ""))
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


def arguments(command: str) -> list[str]:
    """The words of a command as a shell would hand them over; variables and globs stay as they are."""
    return shlex.split(command)


def _commands(text: str) -> Iterator[str]:
    whole = text.replace("\\\n", " ")
    for line in whole.splitlines():
        if line.lstrip().startswith("$ "):
            plain = re.sub(r"\s+#.*$", "", line.lstrip()[2:])
            yield from (part.strip() for part in plain.split(" && "))


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in _CELL.split(line.strip().strip("|"))]


README = Page.read(ROOT / "README.md")
STARTED = Page.read(DOCS / "getting-started.md")
OPERATOR = Page.read(DOCS / "operator.md")
COMMANDS = Page.read(DOCS / "commands.md")
DISCOVERY = Page.read(DOCS / "discovery.md")

PAGES = tuple(
    Page.read(path)
    for path in (
        *sorted(ROOT.glob("*.md")),
        *sorted(DOCS.rglob("*.md")),
        ROOT / "examples" / "README.md",
        ROOT / "spark-images" / "README.md",
    )
)
"""Everything that people read, decisions and changes of the past among it."""
CURRENT = tuple(
    page for page in PAGES if page.path.parent != DOCS / "design" and page.path.name != "CHANGELOG.md"
)
"""The pages that say how things are now."""
