"""Merge functions for tests: as kernels over columns, and in plain Python over the records of one key."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lithify.columns.order import IntPart, parts_of_column
from lithify.engine.rewrite.functions import LoneRecords, Merged, MergeFunction
from lithify.engine.rewrite.groups import Groups

Row = dict[str, Any]

RETRACTS = (1, 3)
INSERT = 0
VALUES = ("payload", "amount")


@dataclass(frozen=True, slots=True)
class Case:
    """A function and what it should do.

    Attributes:
        function: over columns.
        plain: over the records of one key, oldest first; None if nothing is left of them.
    """

    function: MergeFunction
    plain: Callable[[list[Row]], Row | None]


@dataclass(frozen=True, slots=True)
class KeepsAll:
    """What functions are that look at order or counts: passes over some of the runs leave out nothing."""

    lone_records: LoneRecords = LoneRecords.KEPT

    @property
    def columns(self) -> Collection[str]:
        return ()

    def reduce(self, groups: Groups) -> IntPart | None:
        del groups
        return None


def newest_values(groups: Groups) -> dict[str, IntPart]:
    """For each value column the record with its last value that is not null."""
    return {name: groups.newest_of(valid(groups, name)) for name in VALUES}


def valid(groups: Groups, name: str) -> Any:
    return groups.rows.column(name).is_valid().to_numpy(zero_copy_only=False)


@dataclass(frozen=True, slots=True)
class LastNonNull(KeepsAll):
    """The newest record, with the last value that is not null in each column."""

    def merge(self, groups: Groups) -> Merged:
        return Merged(groups.newest(), picked=newest_values(groups))


@dataclass(frozen=True, slots=True)
class FrugalLastNonNull(LastNonNull):
    """The same, but passes leave out the records that give nothing."""

    def reduce(self, groups: Groups) -> IntPart:
        needed = np.zeros(groups.rows.num_rows, dtype=bool)
        for places in (groups.newest(), *newest_values(groups).values()):
            needed[places[places >= 0]] = True
        return groups.order[needed[groups.order]]


@dataclass(frozen=True, slots=True)
class HastyLastNonNull(LastNonNull):
    """The same, but passes keep what deduplicate keeps. This is wrong."""

    def reduce(self, groups: Groups) -> IntPart:
        return groups.newest()


def last_non_null(records: list[Row]) -> Row:
    last: dict[str, list[Any]] = {
        name: [record[name] for record in records if record[name] is not None] or [None] for name in VALUES
    }
    return {**records[-1], **{name: values[-1] for name, values in last.items()}}


@dataclass(frozen=True, slots=True)
class Count(KeepsAll):
    """How many records add to a key, less those that retract; nothing is left at 0."""

    def merge(self, groups: Groups) -> Merged:
        counts = np.add.reduceat(np.where(groups.retracts[groups.order], -1, 1), groups.starts)
        kinds = pa.array(np.full(len(groups), INSERT, dtype=np.int8))
        return Merged(
            groups.newest(), computed={"amount": pa.array(counts), "_VALUE_KIND": kinds}, kept=counts != 0
        )


def count(records: list[Row]) -> Row | None:
    counted = sum(-1 if record["_VALUE_KIND"] in RETRACTS else 1 for record in records)
    return {**records[-1], "amount": counted, "_VALUE_KIND": INSERT} if counted else None


@dataclass(frozen=True, slots=True)
class First(KeepsAll):
    """The oldest record."""

    def merge(self, groups: Groups) -> Merged:
        return Merged(groups.order[groups.starts])


@dataclass(frozen=True, slots=True)
class FrugalFirst(First):
    """The same, but passes leave out all other records: the first of all is the first of those at hand."""

    def reduce(self, groups: Groups) -> IntPart:
        return groups.order[groups.starts]


def first(records: list[Row]) -> Row:
    return records[0]


@dataclass(frozen=True, slots=True)
class Trace(KeepsAll):
    """The payloads of all records of a key in their order, as one text."""

    @property
    def columns(self) -> Collection[str]:
        return ("payload",)

    def merge(self, groups: Groups) -> Merged:
        origins, payloads = (groups.column(name).cast(pa.string()) for name in ("origin", "payload"))
        texts = pc.binary_join_element_wise(origins, payloads.fill_null("-"), "=")
        boundaries = pa.array([*groups.starts, len(groups.order)], pa.int32())
        lists = pa.ListArray.from_arrays(boundaries, texts)
        return Merged(groups.newest(), computed={"payload": pc.binary_join(lists, ",")})


def trace(records: list[Row]) -> Row:
    texts = [
        f"{record['origin']}={'-' if record['payload'] is None else record['payload']}" for record in records
    ]
    return {**records[-1], "payload": ",".join(texts)}


@dataclass(frozen=True, slots=True)
class Grouped(KeepsAll):
    """The payload has an order of its own: that of the largest amount stays, a null one changes nothing.

    A record that retracts and has the largest amount so far takes the payload away.
    """

    def merge(self, groups: Groups) -> Merged:
        amounts = groups.rows.column("amount")
        order = groups.order_within(parts_of_column(amounts, nullable=True))
        decisive = order[groups.ends - 1]
        counts = valid(groups, "amount")[decisive]
        takes = counts & ~groups.retracts[decisive]
        return Merged(
            groups.newest(),
            picked={"amount": np.where(counts, decisive, -1), "payload": np.where(takes, decisive, -1)},
        )


def grouped(records: list[Row]) -> Row:
    payload, amount = None, None
    for record in records:
        if record["amount"] is not None and (amount is None or record["amount"] >= amount):
            amount = record["amount"]
            payload = None if record["_VALUE_KIND"] in RETRACTS else record["payload"]
    return {**records[-1], "payload": payload, "amount": amount}


LAST_NON_NULL = Case(LastNonNull(), last_non_null)

CASES = {
    "last non-null": LAST_NON_NULL,
    "last non-null, passes reduce": Case(FrugalLastNonNull(), last_non_null),
    "last non-null of lone records too": Case(LastNonNull(LoneRecords.MERGED), last_non_null),
    "count": Case(Count(LoneRecords.MERGED), count),
    "count, lone records as they are": Case(Count(), count),
    "first": Case(First(LoneRecords.UNCHANGED), first),
    "first, passes reduce": Case(FrugalFirst(), first),
    "trace": Case(Trace(), trace),
    "trace of lone records too": Case(Trace(LoneRecords.MERGED), trace),
    "order of its own": Case(Grouped(), grouped),
}
