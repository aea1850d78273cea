"""How figures are written, and where they go: docs/benchmarks.md, each table between two marks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
_BEGIN, _END = "<!-- figures of {} -->", "<!-- end of figures of {} -->"

JAVA = "Java Paimon 1.4.2"
ON_ONE_CORE = ["-XX:ActiveProcessorCount=1", "-XX:+UseSerialGC"]
"""How a JVM is started that is compared with a process of ours on one core."""


def markdown(lines: Sequence[Sequence[str]]) -> str:
    """A table; the first line is its head."""
    head, *rest = lines
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rest))


def put(name: str, figures: str) -> None:
    """Puts figures between the marks of their name, in place of those that were there."""
    begin, end = _BEGIN.format(name), _END.format(name)
    head, rest = PAGE.read_text().split(begin)
    PAGE.write_text(f"{head}{begin}\n{figures}\n{end}{rest.split(end)[1]}")
