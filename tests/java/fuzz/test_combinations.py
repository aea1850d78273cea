"""Whatever Java allows together has a chance to be drawn together: nothing is left out in silence."""

from __future__ import annotations

from java.fuzz.combinations import allowed_of_append, allowed_of_keyed, append, index_places, keyed
from java.fuzz.indexes import ROOTS

SEEDS = range(3_000)
"""The rarest combinations come about once in five hundred."""


def test_primary_key_tables_have_every_combination_of_engine_producer_vectors_and_indexes() -> None:
    assert keyed(SEEDS).keys() == {*allowed_of_keyed()}


def test_append_tables_have_every_combination_of_kind_partitions_format_and_indexes() -> None:
    assert append(SEEDS).keys() == {*allowed_of_append()}


def test_indexes_are_of_every_kind_and_in_both_places() -> None:
    counted = index_places(range(300))
    assert counted.keys() == {"500 b", "1 b", "3 kb", "64 mb", *ROOTS, "MAP values"}
    assert all(counted.values())
