"""A view of live files as columns says of each bucket what its entries say."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.columns.order_key import OrderKey
from lithify.errors import UnsupportedTable
from lithify.formats.paimon.manifests.entries import ADD, ManifestEntry
from lithify.formats.paimon.manifests.entry_columns import decode_entries
from lithify.formats.paimon.manifests.index_manifests import NO_INDEXES
from lithify.formats.paimon.manifests.view import View, by_bucket
from lithify.formats.paimon.model import BucketId
from lithify.formats.paimon.support.evolution import file_problems
from lithify.formats.protocol.model import fingerprint_of
from support.properties import examples
from unit.formats.paimon.manifests.test_entry_columns import entries, manifest, one

FORMATS = st.sampled_from(["parquet", "orc", "avro", "row", "parquet.crc", ""])


def bucket_id(partition: bytes, bucket: int) -> BucketId:
    return BucketId(partition, bucket, f"p={partition.hex()}/bucket-{bucket}")


def keys(bounds: pa.Array) -> list[OrderKey]:
    """The bounds as they are; one that is `no order` has none."""
    if b"no order" in bounds.to_pylist():
        raise UnsupportedTable("a data file", ("column k: NaN",))
    return [OrderKey(bound) for bound in bounds.to_pylist()]


def view_of(listed: list[ManifestEntry]) -> View:
    files, spans = by_bucket(decode_entries(manifest(listed)), bucket_id)
    return View(1, 0, NO_INDEXES, files, spans, keys)


@st.composite
def live_files(draw: st.DrawFn) -> list[ManifestEntry]:
    """Added files whose names end as those of formats and of other files do, each name once."""
    drawn = draw(st.lists(entries, max_size=12))
    named = [replace(each.file, name=f"data-{number}.{draw(FORMATS)}") for number, each in enumerate(drawn)]
    return [replace(each, kind=ADD, file=file) for each, file in zip(drawn, named, strict=True)]


@settings(max_examples=examples(60), deadline=None)
@given(live_files())
def test_buckets_have_their_files_in_their_order(listed: list[ManifestEntry]) -> None:
    grouped: dict[BucketId, list[ManifestEntry]] = defaultdict(list)
    for each in listed:
        grouped[bucket_id(each.partition, each.bucket)].append(each)

    view = view_of(listed)

    assert set(view.bucket_ids) == set(grouped)
    for bucket, of_bucket in grouped.items():
        names = [each.file.name for each in of_bucket]
        assert [file.name for file in view.bucket(bucket).files] == names
        assert view.bucket(bucket).total_buckets == of_bucket[0].total_buckets
        assert view.fingerprint(bucket) == fingerprint_of((e.file.name, e.file.level) for e in of_bucket)
        some = view.bucket(bucket).files[::2]
        assert [each.identity for each in view.entries(bucket, some)] == [
            each.identity for each in of_bucket[::2]
        ]


@settings(max_examples=examples(100), deadline=None)
@given(live_files())
def test_every_file_that_may_be_in_the_way_is_looked_at(listed: list[ManifestEntry]) -> None:
    view = view_of(listed)

    looked_at = {
        each.file.name
        for bucket in view.bucket_ids
        for each in view.unusual(bucket, view.bucket(bucket).files)
    }

    for each in listed:
        if each.file.source is None or any(file_problems(each, lambda _: False)):
            assert each.file.name in looked_at


def test_the_file_of_a_bound_without_order_is_named() -> None:
    good = replace(one().file, name="good.parquet")
    bad = replace(good, name="bad.parquet", max_key=b"no order")
    view = view_of([replace(one(), file=good), replace(one(), file=bad)])

    with pytest.raises(UnsupportedTable) as raised:
        view.bucket(view.bucket_ids[0])

    assert (raised.value.table, raised.value.reasons) == ("bad.parquet", ("column k: NaN",))
