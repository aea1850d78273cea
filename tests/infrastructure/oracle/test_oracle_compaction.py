"""The oracle's compactions and planner, as README.md says, on real tables."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from infrastructure.oracle.client import Oracle, OracleError, Table
from infrastructure.oracle.sample_tables import PLAIN, plain_rows

pytestmark = pytest.mark.oracle


class TestCompaction:
    def test_compaction_of_a_copy_leaves_the_original_alone(
        self, oracle: Oracle, rich: Table, tmp_path: Path
    ) -> None:
        copy = rich.copy_to(tmp_path / "copy")
        before = oracle.digest(rich)
        compaction = oracle.compact(copy)
        assert [len(bucket.before) for bucket in compaction.buckets] == [4, 4, 4, 4]
        assert {file.level for file in oracle.files(copy)} == {5}
        assert oracle.snapshots(copy)[-1]["commitKind"] == "COMPACT"
        assert oracle.digest(copy) == oracle.digest(rich) == before
        assert {file.level for file in oracle.files(rich)} == {0}
        assert oracle.compact(copy).buckets == []

    def test_only_selected_buckets_are_compacted(self, oracle: Oracle, rich: Table) -> None:
        compaction = oracle.compact(rich, partitions=[{"dt": "2024-01-02"}], buckets=[1])
        assert [(b.partition, b.bucket) for b in compaction.buckets] == [({"dt": "2024-01-02"}, 1)]

    def test_prepared_compaction_conflicts(self, oracle: Oracle, plain: Table) -> None:
        oracle.write(plain, plain_rows(1, 2))
        oracle.write(plain, plain_rows(2, 3))
        prepared = oracle.compact(plain, commit=False)
        assert prepared.snapshots == []
        assert prepared.token is not None
        oracle.compact(plain)
        with pytest.raises(OracleError, match="File deletion conflicts detected"):
            oracle.commit_prepared(prepared.token)
        live = {Path(file.path) for file in oracle.files(plain)}
        oracle.abort_prepared(prepared.token)
        assert all(path.exists() for path in live)
        assert not Path(prepared.buckets[0].after[0].path).exists()

    def test_abort_spares_upgraded_files(self, oracle: Oracle, plain: Table) -> None:
        oracle.write(plain, plain_rows(1, 2))
        prepared = oracle.compact(plain, commit=False)
        change = prepared.buckets[0]
        assert [file.name for file in change.before] == [file.name for file in change.after]
        assert prepared.token is not None
        oracle.abort_prepared(prepared.token)
        assert len(oracle.read(plain)) == 2

    def test_one_manager_round(self, oracle: Oracle, plain: Table) -> None:
        for i in range(7):
            oracle.write(plain, plain_rows(i, i + 1))
        before = oracle.digest(plain)
        first = oracle.manager_round(plain)
        (bucket,) = first.buckets
        assert (bucket.picked, bucket.output_level, bucket.drop_delete) == (True, 5, True)
        assert len(bucket.change.before) == 7
        assert first.snapshots == [8]
        assert oracle.digest(plain) == before
        (again,) = oracle.manager_round(plain).buckets
        assert (again.picked, again.output_level) == (False, None)
        oracle.write(plain, plain_rows(100))
        (upgrade,) = oracle.manager_round(plain, full=True, options={"target-file-size": "1 kb"}).buckets
        assert len(upgrade.upgraded) == 1

    def test_a_full_compaction_writes_the_changelog(self, oracle: Oracle, tmp_path: Path) -> None:
        table = Table(tmp_path, "db.changes")
        options = {"bucket": "1", "changelog-producer": "full-compaction"}
        oracle.create_table(table, PLAIN, primary_key=["id"], options=options)
        oracle.write(table, plain_rows(1, 2))
        oracle.compact(table)
        oracle.write(table, [["+U", 1, "b"], ["-D", 2, None]])
        snapshot = oracle.compact(table).snapshots[0]
        assert oracle.changelog(table, from_snapshot=3) == {
            snapshot: [["-U", 1, "a"], ["+U", 1, "b"], ["-D", 2, "a"]]
        }
        assert len(oracle.files_of_changelog(table, snapshot)) == 1

    def test_replaced_rows_are_marked_in_deletion_vectors(self, oracle: Oracle, tmp_path: Path) -> None:
        table = Table(tmp_path, "db.vectors")
        options = {"bucket": "1", "deletion-vectors.enabled": "true"}
        oracle.create_table(table, PLAIN, primary_key=["id"], options=options)
        oracle.write(table, plain_rows(*range(10)))
        oracle.compact(table)
        oracle.write(table, plain_rows(3, 4, value="b"))
        oracle.compact(table, full=False)
        (index,) = oracle.index_files(table)
        assert index.type == "DELETION_VECTORS"
        assert [vector.cardinality for vector in index.deletion_vectors.values()] == [2]
        assert oracle.digest(table).rows == 10

    def test_a_timed_compaction_reports_files_rows_and_times(self, oracle: Oracle, plain: Table) -> None:
        oracle.generate(plain, rows=20000, commits=4, key={"range": 10000})
        bench = oracle.bench_compact(plain)
        assert bench.input.files == 4
        assert bench.output.rows == oracle.digest(plain).rows
        assert 0 < bench.rewrite_cpu_nanos <= bench.total_nanos
        assert bench.rounds == 1


class TestPlanner:
    def test_levels_breaks_ties(self, oracle: Oracle) -> None:
        def file(name: str, **fields: int) -> dict[str, Any]:
            return {"name": name, "level": 0, "size": 1, "minKey": 0, "maxKey": 9, **fields}

        files = [
            file("d", minSequence=0, maxSequence=5),
            file("c", minSequence=1, maxSequence=9, creationTime=2),
            file("b", minSequence=1, maxSequence=9, creationTime=1),
            file("a", minSequence=1, maxSequence=9, creationTime=1),
            file("e", minSequence=0, maxSequence=9, creationTime=9),
            file("y", level=3, minKey=5),
            file("x", level=3, maxKey=4),
        ]
        (levels,) = oracle.levels([{"files": files, "num_levels": 3}])
        assert levels["runs"] == [
            *({"level": 0, "files": [name]} for name in "eabcd"),
            {"level": 3, "files": ["x", "y"]},
        ]
        assert (levels["numberOfLevels"], levels["nonEmptyHighestLevel"]) == (4, 3)
        overlapping = [file("a", level=1), file("b", level=1)]
        with pytest.raises(OracleError, match="case 1: SortedRun is not sorted"):
            oracle.levels([{"files": []}, {"files": overlapping}])

    def test_sections_hold_files_whose_keys_overlap(self, oracle: Oracle) -> None:
        ranges = {"a": (0, 5), "b": (3, 4), "c": (5, 9), "d": (10, 11)}
        files = [{"name": name, "minKey": low, "maxKey": high} for name, (low, high) in ranges.items()]
        (sections,) = oracle.sections([{"files": files}])
        assert [sorted(sorted(run) for run in section) for section in sections] == [
            [["a"], ["b", "c"]],
            [["d"]],
        ]

    def test_picks_of_each_strategy_name_files_and_level(self, oracle: Oracle) -> None:
        def runs(*sizes: int) -> list[dict[str, Any]]:
            levels = [0, 0, 0, 4, 5][-len(sizes) :]
            return [
                {"level": level, "files": [{"name": f"f{i}", "size": size}]}
                for i, (level, size) in enumerate(zip(levels, sizes, strict=True))
            ]

        def case(runs: list[dict[str, Any]], strategy: str = "universal", **options: Any) -> dict[str, Any]:
            return {"runs": runs, "num_levels": 6, "strategy": strategy, "options": options}

        offpeak = {"start": 22, "end": 6, "ratio": 1000}
        picks = oracle.pick(
            [
                case(runs(1, 1, 1)),
                case(runs(1, 1, 1), full_interval_millis=10, last_full_millis=0, now_millis=11),
                case(runs(1, 1, 1), full_interval_millis=10, last_full_millis=0, now_millis=10),
                case(runs(1, 1, 1, 10, 1000), size_ratio=1),
                case(runs(1, 1, 1, 10, 1000), offpeak={**offpeak, "hour": 23}),
                case(runs(1, 1, 1, 10, 1000), offpeak={**offpeak, "hour": 12}),
                case(runs(1, 5, 100), "force-up-level-0"),
                case(runs(1, 5, 100), "force-up-level-0", lookup_interval=3, lookup_count=1),
                case(runs(1, 5, 100), "force-up-level-0", lookup_interval=3, lookup_count=2),
                case(runs(7), "full"),
                case(runs(7), "full", force_rewrite_all=True),
                case(runs(7), "full", deletion_vectors=["f0"]),
            ]
        )
        names = [pick and "".join(pick["files"]) for pick in picks]
        assert names == [
            *(None, "f0f1f2", None),
            *("f0f1f2", "f0f1f2f3", "f0f1f2"),
            *("f0", None, "f0"),
            *(None, "f0", "f0"),
        ]
        assert [pick and pick["output_level"] for pick in picks[3:7]] == [3, 4, 3, 3]

    def test_manager_rounds_return_units_and_levels(self, oracle: Oracle) -> None:
        files = [
            {
                "name": "new",
                "level": 0,
                "size": 10,
                "minKey": 0,
                "maxKey": 4,
                "maxSequence": 9,
                "deleteRows": 0,
            },
            {
                "name": "old",
                "level": 5,
                "size": 10,
                "minKey": 3,
                "maxKey": 8,
                "maxSequence": 1,
                "deleteRows": 0,
            },
            {
                "name": "big",
                "level": 0,
                "size": 900,
                "minKey": 20,
                "maxKey": 30,
                "maxSequence": 5,
                "deleteRows": 0,
            },
        ]
        options = {"num_levels": 6, "compaction_file_size": 100}
        idle, full = oracle.manager(
            [
                {"files": files, "options": options, "full": False},
                {"files": files, "options": options, "full": True},
            ]
        )
        assert idle is None
        assert full == {
            "output_level": 5,
            "drop_delete": True,
            "rewrites": [{"output_level": 5, "drop_delete": True, "sections": [[["new"], ["old"]]]}],
            "upgrades": [{"name": "big", "output_level": 5}],
        }

    def test_agrees_with_a_real_round(self, oracle: Oracle, plain: Table) -> None:
        for seed in range(8):
            oracle.generate(plain, rows=200 << seed, seed=seed, key={"range": 100_000}, delete_ratio=0.1)
        oracle.manager_round(plain, options={"num-sorted-run.compaction-trigger": "3"})
        for seed in range(4):
            oracle.generate(plain, rows=100, seed=seed, key={"range": 100_000})
        files = [
            {
                "name": file.name,
                "level": file.level,
                "size": file.size,
                "minKey": file.min_key[0],
                "maxKey": file.max_key[0],
                "minSequence": file.min_sequence,
                "maxSequence": file.max_sequence,
                "creationTime": file.creation_time,
                "deleteRows": file.delete_rows,
            }
            for file in oracle.files(plain)
        ]
        for full in (False, True):
            options = {"trigger": 4, "num_levels": 5, "compaction_file_size": 128 << 20}
            (planned,) = oracle.manager([{"files": files, "options": options, "full": full}])
            trigger = {"num-sorted-run.compaction-trigger": "4"}
            (real,) = oracle.manager_round(plain, full=full, options=trigger, commit=False).buckets
            assert planned is not None
            assert (planned["output_level"], planned["drop_delete"]) == (real.output_level, real.drop_delete)
            (rewrite,) = planned["rewrites"]
            names = [name for section in rewrite["sections"] for run in section for name in run]
            assert names == [file.name for file in real.change.before]

    def test_thousands_of_cases(self, oracle: Oracle) -> None:
        source = random.Random(1)
        cases = [
            {
                "files": [
                    {
                        "name": f"f{i}",
                        "level": 0,
                        "size": source.randrange(1, 1000),
                        "minKey": (low := source.randrange(1000)),
                        "maxKey": low + source.randrange(100),
                        "maxSequence": source.randrange(10),
                        "deleteRows": source.randrange(2),
                    }
                    for i in range(source.randrange(1, 12))
                ],
                "options": {"compaction_file_size": 300},
                "full": source.random() < 0.5,
            }
            for _ in range(2000)
        ]
        assert len(oracle.sections(cases)) == len(oracle.manager(cases)) == len(cases)
