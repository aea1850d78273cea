"""Looks at damaged tables, in bounded memory; arguments: SEED COUNT MIB.

Run by tests. Real tables of several versions get one or two damaged files each: other bytes, other values,
files of another kind in their place, absurd options; and a worker's look, a plan and an inspection are asked
for. Prints JSON: what came of it, errors that nobody expects, the longest time, and the most memory.
"""

from __future__ import annotations

import json
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable
from datetime import UTC
from pathlib import Path
from random import Random
from resource import RUSAGE_SELF, getrusage
from time import monotonic

from infrastructure.oracle.client import Table
from infrastructure.paimon_versions.archive import VERSIONS, unpack
from lithify.clock import SystemClock
from lithify.controller.observing.answering import Answers
from lithify.controller.observing.limits import limit_process
from lithify.controller.observing.wire import FindRun, ListTables, Question, WorkerSettings
from lithify.errors import Failure, LithifyError
from lithify.formats.paimon.compaction.planning import BucketPlanner
from lithify.formats.paimon.opening import open_table
from lithify.formats.paimon.primary_key.compacting import CompactedTable
from lithify.formats.paimon.primary_key.planning import plan_run
from lithify.formats.protocol.address import Selection, TableAddress
from lithify.formats.protocol.observing import ObservationRequest
from lithify.formats.protocol.strategy import Strategy
from support.damage import damaged_avro, damaged_bytes, damaged_hint, damaged_json, damaged_options

_KEPT_BYTES = 64 << 20
_STRATEGIES = (Strategy.MINOR, Strategy.FULL)
Damage = Callable[[Random, bytes], bytes]
_DAMAGE: tuple[tuple[str, Damage], ...] = (
    ("snapshot/snapshot-*", damaged_json),
    ("schema/schema-*", damaged_json),
    ("schema/schema-*", damaged_options),
    ("manifest/*", damaged_avro),
    ("manifest/*", damaged_avro),
    ("manifest/*", damaged_bytes),
    ("snapshot/[LE]*", damaged_hint),
    ("index/*", damaged_bytes),
    ("statistics/*", damaged_json),
)


def main(seed: int, count: int, mebibytes: int) -> None:
    """Damages and looks at tables the given number of times."""
    limit_process(mebibytes << 20, _KEPT_BYTES)
    outcomes: Counter[str] = Counter()
    surprises, longest = [], 0.0
    with tempfile.TemporaryDirectory(prefix="lithify-damage-") as name:
        folder = Path(name)
        tables = [unpack(version, folder / version, "t") for version in VERSIONS]
        answers = Answers(WorkerSettings(str(folder / "kept")), SystemClock(UTC))
        for number in range(seed, seed + count):
            print(number, file=sys.stderr, flush=True)
            rng = Random(number)
            table = rng.choice(tables)
            before = _damaged(rng, table.folder)
            start = monotonic()
            try:
                outcome, surprise = _looked(answers, table, number)
            finally:
                for path, content in before.items():
                    path.write_bytes(content)
            longest = max(longest, monotonic() - start)
            outcomes[outcome] += 1
            if surprise:
                surprises.append(f"{number} {', '.join(path.name for path in before)}: {surprise}")
                print(surprises[-1], file=sys.stderr, flush=True)
    grown = getrusage(RUSAGE_SELF).ru_maxrss >> 10
    print(json.dumps({"outcomes": outcomes, "surprises": surprises, "longest": longest, "mebibytes": grown}))


def _damaged(rng: Random, folder: Path) -> dict[Path, bytes]:
    """Damages some files of a table; what was in them before."""
    before: dict[Path, bytes] = {}
    for _ in range(rng.choice([1, 1, 1, 2])):
        pattern, damage = rng.choice(_DAMAGE)
        found = sorted(folder.glob(pattern))
        if not found:
            continue
        path = rng.choice(found)
        content = path.read_bytes()
        others = [each for each in sorted(folder.glob("*/*-*")) if each.is_file()]
        before.setdefault(path, content)
        try:
            changed = damage(rng, content) if rng.random() < 0.9 else rng.choice(others).read_bytes()
        except (ValueError, LookupError, EOFError, TypeError):  # it is damaged beyond what can be taken apart
            changed = damaged_bytes(rng, content)
        path.write_bytes(changed)
    return before


def _looked(answers: Answers, table: Table, number: int) -> tuple[str, str]:
    """What came of a look and of a plan, and what nobody expected of them."""
    target = TableAddress(str(table.warehouse), str(table.name), {})
    outcome = "read"
    for question in (
        ObservationRequest(target, "a table", is_full=number % 2 == 0),
        FindRun(target, "run", None),
        ListTables(target),
    ):
        error = _asked(answers, question)
        if error is not None:
            outcome = type(error).__name__
            if error.failure is Failure.BUG or len(str(error)) > 20_000:
                return outcome, f"{type(question).__name__}: {error}"
    try:
        _plan(table, _STRATEGIES[number % 2])
    except LithifyError as error:
        outcome = type(error).__name__
        return outcome, f"plan: {error}" if error.failure is Failure.BUG else ""
    except Exception as error:  # noqa: BLE001  # whatever it is, the test is to tell
        where = traceback.extract_tb(error.__traceback__)[-3:]
        return "surprise", f"plan: {type(error).__name__}: {error} in {where}"
    return outcome, ""


def _asked(answers: Answers, question: Question) -> LithifyError | None:
    return answers.reply(question).error


def _plan(table: Table, strategy: Strategy) -> None:
    clock = SystemClock(UTC)
    opened = open_table(TableAddress(str(table.warehouse), str(table.name)))
    opened.check_supported()
    view = opened.view(Selection())
    if view is not None:
        plan_run(BucketPlanner(opened, view, strategy, clock))
    CompactedTable(opened).inspect(Selection(), clock)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]))
