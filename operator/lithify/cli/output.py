"""Where output goes: results to stdout, for people or as JSON; progress and notes to stderr.

What is printed names partitions, files and errors of tables that others may have written, so all output to
a person's terminal is plain text; see `plain_text`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import TextIOWrapper
from typing import Any

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.text import Text

from lithify.formats.protocol.model import BlockedGroup
from lithify.plain_text import json_escaped, plain_lines

SOME_BLOCKED = 5
"""Exit code: done, but some groups cannot be compacted while their files stay as they are."""

_WIDTH_WITHOUT_TERMINAL = 140


class PlainConsole(Console):
    """A console whose texts hold no control characters but its own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """The segments of a text, a table, or any other renderable."""
        for segment in super().render(renderable, options):
            if segment.control:
                yield segment
            else:
                yield Segment(plain_lines(segment.text), segment.style)


def out() -> Console:
    """The console for results; wide where the output is not a terminal.

    What the encoding of the output lacks (arrows, blocks) comes out as question marks: a compaction that has
    committed must not end with an error for that.
    """
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    width = None if sys.stdout.isatty() else _WIDTH_WITHOUT_TERMINAL
    return PlainConsole(file=sys.stdout, highlight=False, width=width)


def err() -> Console:
    """The console for progress and notes; it writes to the current `sys.stderr`."""
    return PlainConsole(stderr=True, highlight=False)


def emit(as_json: bool, data: Mapping[str, Any], view: Callable[[], RenderableType]) -> None:
    """Prints a result as JSON or for people."""
    if as_json:
        click.echo(json_escaped(json.dumps(data, indent=2)))
    else:
        out().print(view())


def blocked_lines(blocked: Sequence[BlockedGroup], most: int, noun: str = "bucket") -> list[RenderableType]:
    """The groups that cannot be compacted, a line each."""
    lines = [Text(f"blocked {each.group}: {each.problem}", "red") for each in blocked[:most]]
    if len(blocked) > most:
        more = number(len(blocked) - most, f"more blocked {noun}")
        lines.append(Text(f"… and {more}; --json has them all", "dim"))
    return list(lines)


def number(count: int, noun: str, plural: str = "") -> str:
    """A count with its noun in the right form: `1 file`, `2 files`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"
