"""How the oracle writes and reads rows, as README.md says, on real tables."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from infrastructure.oracle.arguments import Filter
from infrastructure.oracle.client import Oracle, OracleError, Table
from infrastructure.oracle.sample_tables import COLUMNS, PLAIN, plain_rows, rich_expected, rich_row

pytestmark = pytest.mark.oracle


class TestReadAndWrite:
    def test_merge_on_read(self, oracle: Oracle, rich: Table) -> None:
        assert oracle.read(rich) == rich_expected()
        digest = oracle.digest(rich)
        assert (digest.rows, digest.distinct_keys, len(digest.hash)) == (16, 16, 32)

    def test_kinds_of_rows_are_read_as_stored(self, oracle: Oracle, plain: Table) -> None:
        for kind in ("+I", "+U"):
            oracle.write(plain, plain_rows(1, 2, kind=kind))
        assert oracle.read(plain, raw_kinds=True) == plain_rows(1, 2, kind="+U")
        assert oracle.read(plain) == plain_rows(1, 2)
        oracle.compact(plain)
        assert oracle.read(plain, raw_kinds=True) == plain_rows(1, 2)

    def test_digest_sees_every_difference_but_order(self, oracle: Oracle, tmp_path: Path) -> None:
        hashes = []
        for i, rows in enumerate([plain_rows(1, 2, 3), plain_rows(3, 1, 2), plain_rows(1, 2, 4)]):
            table = Table(tmp_path, f"db.t{i}")
            oracle.create_table(table, PLAIN, primary_key=["id"], options={"bucket": "1"})
            oracle.write(table, rows)
            hashes.append(oracle.digest(table).hash)
        assert hashes[0] == hashes[1] != hashes[2]

    def test_digest_is_the_documented_hash(self, oracle: Oracle, rich: Table) -> None:
        texts = [json.dumps(row, ensure_ascii=False, separators=(",", ":")) for row in oracle.read(rich)]
        assert oracle.digest(rich).hash == _multiset_hash(texts)

    def test_time_travel_projection_and_partition(self, oracle: Oracle, rich: Table) -> None:
        oracle.create_tag(rich, "first", snapshot_id=1)
        assert len(oracle.read(rich, snapshot_id=1)) == 20
        assert oracle.digest(rich, tag="first") == oracle.digest(rich, snapshot_id=1)
        narrow = oracle.read(rich, projection=["id"], partition={"dt": "2024-01-02"})
        assert narrow == [["+I", key] for key in (11, 13, 17, 19, 1, 3, 7, 9)]
        assert oracle.digest(rich, projection=["id"]).distinct_keys is None

    def test_a_snapshot_holds_user_identifier_watermark_and_properties(
        self, oracle: Oracle, plain: Table
    ) -> None:
        snapshot = oracle.write(
            plain, plain_rows(1), commit_user="me", commit_identifier=7, watermark=5, properties={"run": "x"}
        )
        stored = oracle.snapshots(plain)[-1]
        assert stored["id"] == snapshot == 1
        assert (stored["commitUser"], stored["commitIdentifier"], stored["watermark"]) == ("me", 7, 5)
        assert stored["properties"] == {"run": "x"}
        assert oracle.write(plain, []) == 0

    def test_an_overwrite_replaces_one_partition_only(self, oracle: Oracle, rich: Table) -> None:
        oracle.write(rich, [rich_row(2, 9)], overwrite_partition={"dt": "2024-01-01"})
        ids = {row[2] for row in oracle.read(rich, partition={"dt": "2024-01-01"})}
        assert ids == {2}
        assert len(oracle.read(rich, partition={"dt": "2024-01-02"})) == 8

    def test_prepared_commits_interleave(self, oracle: Oracle, plain: Table) -> None:
        oracle.write(plain, plain_rows(1, 2))
        first = oracle.prepare(plain, plain_rows(1, 2, value="first"))
        second = oracle.prepare(plain, plain_rows(2, 3, value="second"))
        assert first.files[0].min_sequence == second.files[0].min_sequence == 2
        assert len(oracle.read(plain)) == 2
        assert oracle.commit_prepared(second.token) == 2
        assert oracle.commit_prepared(first.token) == 3
        values = {row[1]: row[2] for row in oracle.read(plain)}
        assert (values[1], values[3]) == ("first", "second")
        third = oracle.prepare(plain, plain_rows(9))
        assert Path(third.files[0].path).exists()
        oracle.abort_prepared(third.token)
        assert not Path(third.files[0].path).exists()
        with pytest.raises(OracleError, match="No prepared commit"):
            oracle.commit_prepared(third.token)

    def test_rows_stay_in_their_dynamic_buckets(self, oracle: Oracle, tmp_path: Path) -> None:
        table = Table(tmp_path, "db.dynamic")
        options = {"bucket": "-1", "dynamic-bucket.target-row-num": "4"}
        oracle.create_table(table, PLAIN, primary_key=["id"], options=options)
        oracle.write(table, plain_rows(*range(10)))
        before = {file.bucket: file.rows for file in oracle.files(table)}
        assert before == {0: 4, 1: 4, 2: 2}
        hashes = {index.bucket: len(index.hashes) for index in oracle.index_files(table)}
        assert hashes == before
        oracle.write(table, plain_rows(*range(10), value="b"))
        oracle.write(table, plain_rows(100, 101), buckets=[7, 8])
        assert {file.bucket for file in oracle.files(table)} == {0, 1, 2, 7, 8}
        assert oracle.digest(table).distinct_keys == 12
        oracle.compact(table)
        assert oracle.digest(table).rows == 12

    def test_an_append_table_keeps_rows_that_are_equal(self, oracle: Oracle, tmp_path: Path) -> None:
        table = Table(tmp_path, "db.log")
        oracle.create_table(table, PLAIN)
        for i in range(6):
            oracle.write(table, plain_rows(i, i))
        before = oracle.digest(table)
        assert (before.rows, before.distinct_keys) == (12, None)
        compaction = oracle.compact(table)
        assert [len(bucket.before) for bucket in compaction.buckets] == [6]
        assert len(oracle.files(table)) == 1
        assert oracle.digest(table) == before

    @pytest.mark.parametrize("bucket", ["-1", "2"])
    def test_deletes_by_vectors(self, oracle: Oracle, tmp_path: Path, bucket: str) -> None:
        table = Table(tmp_path, "db.log")
        options = {"bucket": bucket, "deletion-vectors.enabled": "true"}
        oracle.create_table(table, PLAIN, options=options | ({} if bucket == "-1" else {"bucket-key": "id"}))
        oracle.write(table, plain_rows(*range(6)))
        assert oracle.delete(table, {"column": "id", "op": "less_than", "literal": 2}) == 2
        token = oracle.prepare_delete(table, {"column": "id", "op": "equal", "literal": 5})
        assert oracle.read(table) == plain_rows(2, 3, 4, 5)
        oracle.commit_prepared(token)
        assert oracle.read(table) == plain_rows(2, 3, 4)
        counts = [
            each.cardinality
            for index in oracle.index_files(table)
            for each in index.deletion_vectors.values()
        ]
        assert sum(count or 0 for count in counts) == 3
        assert oracle.delete(table, {"column": "id", "op": "equal", "literal": 9}) == 0
        oracle.delete(table, {"column": "id", "op": "equal", "literal": 4}, counted=False)
        counts = [
            each.cardinality
            for index in oracle.index_files(table)
            for each in index.deletion_vectors.values()
        ]
        assert None in counts

    def test_vectors_are_generated(self, oracle: Oracle, tmp_path: Path) -> None:
        table = Table(tmp_path, "db.vectors")
        columns = {"id": "INT NOT NULL", "v": "VECTOR<FLOAT, 3>", "w": "VECTOR<BIGINT NOT NULL, 2>"}
        oracle.create_table(table, columns, ["id"], options={"bucket": "1", "file.format": "avro"})
        of = {
            "v": {"kind": "nested", "of": {"kind": "random", "min": 8, "max": 8}},
            "w": {"kind": "constant", "value": [1, -2]},
        }
        oracle.generate(table, rows=2, key={"mode": "sequential"}, columns=of)
        assert oracle.read(table) == [["+I", key, [1.0] * 3, [1, -2]] for key in range(2)]

    def test_generated_rows_are_the_same_for_the_same_seed(self, oracle: Oracle, tmp_path: Path) -> None:
        digests = []
        for name in ("db.a", "db.b"):
            table = Table(tmp_path, name)
            oracle.create_table(
                table, COLUMNS, primary_key=["dt", "id"], partition_keys=["dt"], options={"bucket": "2"}
            )
            snapshots = oracle.generate(
                table,
                rows=3000,
                commits=3,
                seed=7,
                key={"mode": "uniform", "range": 1000},
                columns={
                    "name": {"kind": "low", "values": 5, "prefix": "city-"},
                    "big": {"kind": "sequential", "start": 100},
                    "price": {"kind": "random", "min": -50, "max": 50, "nulls": 0.5},
                    "ok": {"kind": "constant", "value": True},
                },
                delete_ratio=0.1,
            )
            assert snapshots == [1, 2, 3]
            digests.append(oracle.digest(table))
        assert digests[0] == digests[1]
        rows = oracle.read(Table(tmp_path, "db.a"))
        assert 700 < len(rows) < 950
        assert {row[4] for row in rows} == {f"city-{i:012}" for i in range(5)}
        nulls = sum(row[5] is None for row in rows)
        assert 0.3 < nulls / len(rows) < 0.7
        assert oracle.scan(Table(tmp_path, "db.a"), repeat=2).rows == len(rows)


LEFT = [key for key in range(20) if key % 5 != 0]
"""The keys of `rich` that are not deleted."""
ODD = [key for key in LEFT if key % 2]

FILTERS: dict[str, tuple[Filter, list[int]]] = {
    "equal number": ({"column": "id", "op": "equal", "literal": 11}, [11]),
    "equal minus zero": ({"column": "ratio", "op": "equal", "literal": "-0.0"}, [1]),
    "equal zero": ({"column": "ratio", "op": "equal", "literal": 0.0}, []),
    "equal bytes": ({"column": "raw", "op": "equal", "literal": "AAH/"}, LEFT),
    "equal day": ({"column": "day", "op": "equal", "literal": "1970-01-01"}, []),
    "not equal": ({"column": "ok", "op": "not_equal", "literal": True}, [k for k in LEFT if k % 3]),
    "less": ({"column": "price", "op": "less_than", "literal": "3.2500"}, [1, 2]),
    "less or equal": ({"column": "price", "op": "less_or_equal", "literal": "3.2500"}, [1, 2, 3]),
    "greater": ({"column": "big", "op": "greater_than", "literal": 17 * 10**12}, [18, 19]),
    "greater or equal": ({"column": "ratio", "op": "greater_or_equal", "literal": 2.25}, [18, 19]),
    "later": ({"column": "at", "op": "less_than", "literal": "2024-05-06T07:08:09.200001"}, [1]),
    "in few": ({"column": "id", "op": "in", "literals": [1, 2, 5]}, [1, 2]),
    "in many": ({"column": "id", "op": "in", "literals": [*range(3, 40)]}, LEFT[2:]),
    "not in": ({"column": "id", "op": "not_in", "literals": [*range(3, 40)]}, [1, 2]),
    "starts with": ({"column": "name", "op": "starts_with", "literal": 'naïve "1'}, [1]),
    "partition": (
        {"column": "dt", "op": "greater_than", "literal": "2024-01-01"},
        [k for k in LEFT if k % 2],
    ),
    "null": ({"column": "name", "op": "is_null"}, []),
    "not null": ({"column": "name", "op": "is_not_null"}, LEFT),
}


class TestFilteredReads:
    def test_each_operator_finds_its_rows_before_and_after_a_compaction(
        self, oracle: Oracle, rich: Table
    ) -> None:
        filters = [ask for ask, _ in FILTERS.values()]
        for compacted in (False, True):
            if compacted:
                oracle.compact(rich)
            found = {name: oracle.read(rich, filter=ask) for name, (ask, _) in FILTERS.items()}
            ids = {name: sorted(row[2] for row in rows) for name, rows in found.items()}
            assert ids == {name: keys for name, (_, keys) in FILTERS.items()}
            digests = oracle.filtered_digests(rich, filters)
            assert digests == [oracle.digest(rich, filter=ask) for ask in filters]
            assert digests == oracle.filtered_digests(rich, filters, skipping=False)

    def test_nulls_match_nothing_but_is_null(self, oracle: Oracle, plain: Table) -> None:
        oracle.write(plain, [["+I", 1, None], ["+I", 2, "a"]])
        filters: list[Filter] = [{"column": "v", "op": "is_null"}, {"column": "v", "op": "is_not_null"}]
        filters += [{"column": "v", "op": op, "literal": "b"} for op in ("not_equal", "less_than")]
        assert [oracle.read(plain, filter=ask) for ask in filters] == [
            [["+I", 1, None]],
            *[[["+I", 2, "a"]]] * 3,
        ]

    def test_files_are_skipped_by_statistics(self, oracle: Oracle, rich: Table) -> None:
        oracle.compact(rich)
        first, *_, last = sorted(oracle.files(rich), key=lambda file: file.min_key)
        Path(last.path).unlink()
        ask: Filter = {"column": "big", "op": "equal", "literal": first.min_key[0] * 10**12}
        assert [row[2] for row in oracle.read(rich, filter=ask)] == first.min_key
        with pytest.raises(OracleError, match="FileNotFound"):
            oracle.filtered_digests(rich, [ask], skipping=False)

    def test_projection_has_to_hold_the_column(self, oracle: Oracle, rich: Table) -> None:
        ask: Filter = {"column": "big", "op": "equal", "literal": 10**12}
        rows = oracle.read(rich, filter=ask, partition={"dt": "2024-01-02"}, projection=["name", "big"])
        assert rows == [["+I", 'naïve "1"\n', 10**12]]
        with pytest.raises(OracleError, match="a column that is read"):
            oracle.read(rich, filter=ask, projection=["name"])
        with pytest.raises(OracleError, match="an operator that README"):
            oracle.read(rich, filter={"column": "big", "op": "nearly"})


def _multiset_hash(texts: list[str]) -> str:
    """The formulas of README.md."""
    mask = 2**64 - 1

    def mix(h: int) -> int:
        h = (h ^ (h >> 33)) * 0xFF51AFD7ED558CCD & mask
        h = (h ^ (h >> 33)) * 0xC4CEB9FE1A85EC53 & mask
        return h ^ (h >> 33)

    first = second = 0
    for text in texts:
        fnv, polynomial = 0xCBF29CE484222325, 0
        for byte in text.encode():
            fnv = (fnv ^ byte) * 0x100000001B3 & mask
            polynomial = polynomial * 0x9E3779B97F4A7C15 + byte + 1 & mask
        first = first + mix(fnv) & mask
        second = second + mix(polynomial) & mask
    return f"{first:016x}{second:016x}"
