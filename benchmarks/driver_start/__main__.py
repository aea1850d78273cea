"""Starts drivers in turns, plain and as the Spark image has them, and prints how long they take.

`--write` puts the figures into docs/benchmarks.md. The image is unpacked, not in a cluster: what nodes and an
API server need for pods comes on top.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from infrastructure.images.build import REPOSITORY, Image, build

START = Path(__file__).resolve().parent / "start.py"
TRAIN = REPOSITORY / "spark-images" / "spark" / "train.py"
PAGE = REPOSITORY / "docs" / "benchmarks.md"
BEGIN, END = "<!-- figures of starts -->", "<!-- end of figures of starts -->"
ROWS = {
    "session": "PySpark as it is installed: a session of Spark SQL, all jars, Spark's scripts",
    "local-plain": "the image, JVM as Java has it",
    "local": "**the image**",
    "executor-plain": "the image with an executor, JVMs as Java has them",
    "executor": "**the image with an executor**",
}
BEFORE = {"local-plain": "session", "local": "session", "executor": "executor-plain"}
"""What each is compared with."""


@dataclass(frozen=True, slots=True)
class Start:
    """One start: seconds until the first task was done, and the memory of the driver's JVM by then."""

    seconds: float
    mib: int


def main() -> None:
    """Runs the rounds and prints the figures."""
    parser = ArgumentParser(prog="make bench-start", description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="put the figures into docs/benchmarks.md")
    given = parser.parse_args()
    image = build("spark")
    starts: dict[str, list[Start]] = {kind: [] for kind in ROWS}
    for _ in range(given.rounds):
        for kind, found in starts.items():
            found.append(_installed(kind) if kind == "session" else _in_image(image, kind))
    text = text_of(starts)
    print(text)
    if given.write:
        page = PAGE.read_text()
        head, rest = page.split(BEGIN)
        PAGE.write_text(f"{head}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")


def text_of(starts: Mapping[str, Sequence[Start]]) -> str:
    """The figures as a table of Markdown."""
    medians = {kind: statistics.median(start.seconds for start in found) for kind, found in starts.items()}
    lines = [
        "|  | median | best | times faster | memory of the driver's JVM |",
        "| --- | --- | --- | --- | --- |",
    ]
    for kind, found in starts.items():
        ratio = f"{medians[BEFORE[kind]] / medians[kind]:.1f}" if kind in BEFORE else ""
        best, mib = min(start.seconds for start in found), statistics.median(start.mib for start in found)
        lines.append(f"| {ROWS[kind]} | {medians[kind]:.1f} s | {best:.1f} s | {ratio} | {mib:.0f} MiB |")
    rounds = len(next(iter(starts.values())))
    load = (
        f"{rounds} rounds; load average over 15 minutes {os.getloadavg()[2]:.1f} on {os.cpu_count()} cores."
    )
    return "\n".join((*lines, "", load))


def _installed(kind: str) -> Start:
    return _start(
        lambda: subprocess.run([sys.executable, START, kind], check=True, capture_output=True, text=True)
    )


def _in_image(image: Image, kind: str) -> Start:
    shared = {**image.root.shared, "/tmp/start.py": START, "/tmp/train.py": TRAIN}
    words = ["python3.11", "/tmp/start.py", kind]
    root = replace(image.root, shared=shared)
    return _start(lambda: root.run(words, image.environment, capture_output=True))


def _start(run: Callable[[], subprocess.CompletedProcess[str]]) -> Start:
    done = run()
    if done.returncode != 0:
        sys.exit(done.stderr)
    return Start(**json.loads(done.stdout.splitlines()[-1]))


if __name__ == "__main__":
    main()
