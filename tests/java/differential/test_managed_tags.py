"""Tags beside Java's: which are created, which go, and the files that go with them; over random histories."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

import pytest

from infrastructure.oracle.client import Oracle, Table
from support.expired_snapshots import Rules, answers, expire_both, now_millis, numbers, set_ages
from support.managed_tags import manage_tags_of_both, tags_of
from support.runs import run_inline
from support.tables import append, make_plain, stray_files

pytestmark = pytest.mark.oracle

HOUR = 60
STEPS = 5
ZONES = ("sink.process-time-zone", "sink.watermark-time-zone")
PERIODS: Mapping[str, Mapping[str, str]] = {
    "daily": {"tag.creation-period": "daily"},
    "daily, plain": {"tag.period-formatter": "without_dashes"},
    "hourly": {"tag.creation-period": "hourly"},
    "hourly, plain": {"tag.creation-period": "hourly", "tag.period-formatter": "without_dashes"},
    "hourly, no blank": {
        "tag.creation-period": "hourly",
        "tag.period-formatter": "without_dashes_and_spaces",
    },
    "two hours": {"tag.creation-period": "two-hours"},
    "of a duration": {"tag.creation-period-duration": "90 min"},
}


def options_of(random: Random) -> dict[str, str]:
    return {
        "tag.automatic-creation": random.choice(["process-time", "process-time", "watermark"]),
        **PERIODS[random.choice(sorted(PERIODS))],
        **random.choice([{}, {"tag.creation-delay": "20 min"}]),
        **random.choice([{}, {"tag.num-retained-max": str(random.choice([1, 2, 3]))}]),
        **random.choice([{}, {"tag.default-time-retained": random.choice(["1 h", "30 d"])}]),
        **random.choice([{}, {"tag.automatic-completion": "true"}]),
        **random.choice([{}, {"tag.create-success-file": "true"}]),
        **random.choice([{}, {}, {"tag.time-expire-enabled": "false"}]),
        **random.choice([{}, dict.fromkeys(ZONES, "Asia/Tokyo")]),
    }


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(60))
def test_tags_of_random_histories_are_those_of_java(oracle: Oracle, tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    options = options_of(random)
    table = make_plain(oracle, tmp_path / "table", commits=2, **{"write-only": "true"})
    for step in range(STEPS):
        for _ in range(random.randint(1, 4)):
            append(oracle, table, f"step {step}")
        random.choice([run_inline, oracle.compact])(table)
        age(random, table)
        age_tags(random, table)
        manage_tags_of_both(oracle, table, options, tmp_path / f"java-{step}")
        read = answers(oracle, table)
        least = random.choice([1, 2, 4])
        expire_both(oracle, table, Rules(least=least, most=least + 1), tmp_path / f"expired-{step}")
        left = answers(oracle, table)
        assert left == {name: rows for name, rows in read.items() if name in left}
    assert stray_files(oracle, table) == set()


def age(random: Random, table: Table) -> None:
    """Gives new snapshots times and watermarks hours after those before."""
    marked = {number: told(table, number) for number in numbers(table)}
    old = [each["timeMillis"] for each in marked.values() if each["commitUser"] == "aged"]
    millis = max(old, default=now_millis() - 4 * 24 * HOUR * 60_000)
    for number, snapshot in marked.items():
        if snapshot["commitUser"] != "aged":
            millis += random.choice([5, 30, 65, 125, 600]) * 60_000
            change = {"commitUser": "aged", "timeMillis": min(millis, now_millis())}
            watermark = random.choice([{}, {"watermark": millis - 600_000}, {"watermark": -(1 << 63)}])
            path = table.folder / f"snapshot/snapshot-{number}"
            path.write_text(json.dumps({**snapshot, **change, **watermark}))


def age_tags(random: Random, table: Table) -> None:
    """Has some tags been created years ago."""
    for path in sorted((table.folder / "tag").glob("tag-*")):
        if path.is_file() and random.random() < 0.3:
            found = json.loads(path.read_text())
            if "tagCreateTime" in found:
                path.write_text(json.dumps({**found, "tagCreateTime": [2020, 2, 29, 23, 59]}))


def told(table: Table, number: int) -> dict[str, Any]:
    return dict(json.loads((table.folder / f"snapshot/snapshot-{number}").read_text()))


def test_deleted_tag_takes_only_its_own_files(oracle: Oracle, tmp_path: Path) -> None:
    options = {"tag.automatic-creation": "process-time", "tag.creation-period": "hourly"}
    table = make_plain(oracle, tmp_path / "table", commits=4, **{"write-only": "true"})
    oracle.create_tag(table, "by hand", 2)
    oracle.compact(table)
    there = numbers(table)
    set_ages(table, {number: (len(there) - at) * 2 * HOUR for at, number in enumerate(there)})
    assert manage_tags_of_both(oracle, table, options, tmp_path / "created") == (6, 0)
    expire_both(oracle, table, Rules(most=1), tmp_path / "expired")
    append(oracle, table)
    rows = oracle.read(table, tag="by hand")

    options["tag.num-retained-max"] = "1"
    made, gone = manage_tags_of_both(oracle, table, options, tmp_path / "fewer")

    assert (made, gone) == (1, 6)
    assert oracle.read(table, tag="by hand") == rows
    assert len(tags_of(table)) == 2
    assert stray_files(oracle, table) == set()
    shutil.rmtree(tmp_path / "fewer")
