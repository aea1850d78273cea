"""The figures as a table of Markdown, and their place in docs/benchmarks.md."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from many_tables.measuring import Idle, Reaction, Start
from many_tables.writes import Writes

PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
BEGIN, END = "<!-- operator's figures -->", "<!-- end of operator's figures -->"
COMMITS_BEGIN, COMMITS_END = "<!-- reactions to commits -->", "<!-- end of reactions to commits -->"
MOST_INTERVALS = 2.0
"""Within so many check intervals 99 of 100 commits are to be seen, whatever other catalogs do."""


@dataclass(frozen=True, slots=True)
class Figures:
    """Everything that was measured.

    Attributes:
        tables: LakeTables.
        compactions: Compactions that have ended.
        cold: the start that wrote all statuses.
        again: the start after it.
        again_writes: what the start after it wrote.
        often: nothing changes, the default interval between looks.
        rarely: nothing changes, a long interval between looks.
        tables_seen: reaction to changes of LakeTables.
        runs_seen: reaction to new Compactions.
    """

    tables: int
    compactions: int
    cold: Start
    again: Start
    again_writes: Writes
    often: Idle
    rarely: Idle
    tables_seen: Reaction
    runs_seen: Reaction


@dataclass(frozen=True, slots=True)
class Commits:
    """How soon commits are seen.

    Attributes:
        tables: healthy LakeTables.
        dead: LakeTables of a catalog that answers nothing.
        interval: seconds between two looks at a table.
        alone: from a commit to its status, without the dead tables.
        beside: the same, from when the dead tables are created.
    """

    tables: int
    dead: int
    interval: int
    alone: Reaction
    beside: Reaction

    @property
    def is_met(self) -> bool:
        """Whether dead tables delay nobody beyond the limit."""
        return self.beside.p99 < MOST_INTERVALS * self.interval


def commits_text(commits: Commits) -> str:
    """The figures of commits as Markdown."""
    cells = [
        ("", "median", "p99", "most", "p99 in check intervals"),
        ("---", "---", "---", "---", "---"),
        ("no other catalog", *_intervals(commits.alone, commits.interval)),
        (f"{commits.dead} tables of a dead catalog", *_intervals(commits.beside, commits.interval)),
    ]
    table = "\n".join(f"| {' | '.join(row)} |" for row in cells)
    verdict = "kept" if commits.is_met else "MISSED"
    return (
        f"{commits.tables:,} healthy LakeTables, looked at every {commits.interval} s, {_machine()}, "
        f"{len(commits.beside.samples)} commits each. Load average of the last 15 minutes: "
        f"{os.getloadavg()[2]:.1f}. p99 below {MOST_INTERVALS:g} intervals beside the dead one: {verdict}."
        f"\n\n{table}"
    )


def _intervals(seen: Reaction, interval: int) -> tuple[str, ...]:
    seconds = (f"{each:.1f} s" for each in (seen.median, seen.p99, max(seen.samples)))
    return (*seconds, f"{seen.p99 / interval:.2f}")


def text_of(figures: Figures) -> str:
    """The figures as Markdown."""
    cells = [("", ""), ("---", "---"), *_starts(figures), *_idles(figures), *_reactions(figures)]
    table = "\n".join(f"| {what} | {figure} |" for what, figure in cells)
    return (
        f"{figures.tables:,} LakeTables and {figures.compactions:,} finished Compactions, on {_machine()} "
        f"that the operator, its two workers, etcd, the API server and the benchmark share. Load average of "
        f"the last 15 minutes, all of that and whatever else ran: {os.getloadavg()[2]:.1f}.\n\n{table}"
    )


def write(text: str, begin: str, end: str) -> None:
    """Puts figures into their place in the page."""
    page = PAGE.read_text()
    head, rest = page.split(begin)
    tail = rest.split(end)[1]
    PAGE.write_text(f"{head}{begin}\n{text}\n{end}{tail}")


def _starts(figures: Figures) -> list[tuple[str, str]]:
    cold, again = figures.cold, figures.again
    return [
        ("first start, until every table was looked at and its status written", f"{cold.steady:.1f} s"),
        ("processor time of that, operator and workers", f"{cold.cpu:.1f} s"),
        ("restart, until the first object was reconciled", f"{again.first:.1f} s"),
        ("restart, until every table was observed again", f"{again.steady:.1f} s"),
        ("processor time of that, operator and workers", f"{again.cpu:.1f} s"),
        ("writes to the API server by that restart", _writes(figures.again_writes)),
        (
            "memory of the operator after a first start, after a restart",
            _two(cold.own_bytes, again.own_bytes),
        ),
        ("memory of its two workers together", _two(cold.worker_bytes, again.worker_bytes)),
    ]


def _idles(figures: Figures) -> list[tuple[str, str]]:
    rows = []
    for idle in (figures.often, figures.rarely):
        when = f"nothing changes for {idle.seconds:.0f} s, a look at each table every {idle.interval} s"
        rows += [
            (f"{when}: looks", f"{idle.looks:.0f} a second"),
            ("processor: operator, workers", f"{_percent(idle.own_cores)}, {_percent(idle.worker_cores)}"),
            ("writes to the API server", _writes(idle.writes)),
            ("memory of the operator", _mebibytes(idle.own_bytes)),
        ]
    return rows


def _reactions(figures: Figures) -> list[tuple[str, str]]:
    return [
        (f"{what}, until status says that it was seen ({len(seen.samples)} times)", _quantiles(seen))
        for what, seen in (
            ("a LakeTable's spec changes", figures.tables_seen),
            ("a Compaction is created", figures.runs_seen),
        )
    ]


def _quantiles(seen: Reaction) -> str:
    median, p99, most = (f"{seconds * 1000:.0f} ms" for seconds in (seen.median, seen.p99, max(seen.samples)))
    return f"median {median}, p99 {p99}, most {most}"


def _writes(found: Writes) -> str:
    served = "" if found.served is None else f", {found.served} as the API server counts"
    return f"{found.told} as the operator counts{served}; {found.changed} objects differ"


def _percent(cores: float) -> str:
    return f"{cores * 100:.0f} % of a core"


def _two(one: int, other: int) -> str:
    return f"{_mebibytes(one)}, {_mebibytes(other)}"


def _mebibytes(count: int) -> str:
    return f"{count / (1 << 20):,.0f} MiB"


def _machine() -> str:
    cores = len(os.sched_getaffinity(0))
    models = {
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    }
    return f"{cores} cores ({', '.join(sorted(models)) or 'of an unknown make'})"
