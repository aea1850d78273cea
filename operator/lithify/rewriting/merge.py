"""The streaming k-way merge of sorted runs, vectorised by rounds.

Called by `passes` for every section. In each round everything at or below the smallest of the runs' last
buffered keys is complete: no run can still bring a row of that range. Those rows are put together, ordered
by key, reduced to one record a key and gathered, all in column kernels; then the runs that were emptied are
filled again. Memory is what the cursors buffer, plus twice the round.

The order of records is that of Paimon's `SortMergeReader`: key, then the user's sequence fields, then the
sequence number. Records equal in all of these are decided by their run: the lower run number (the newer run)
wins, so the outcome does not depend on how the merge is split into tasks and passes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lithify.rewriting.order import IntPart, concat_parts, rank_rows
from lithify.rewriting.runs import KeyedPiece, Piece, RunCursor
from lithify.rewriting.spec import MergeSpec

Mask = npt.NDArray[np.bool_]


def merge_cursors(cursors: Sequence[RunCursor], spec: MergeSpec, *, last_pass: bool) -> Iterator[Piece]:
    """Merges runs into one run of strictly increasing keys.

    Records that retract their key are only removed by the last pass, the one that sees all runs.

    Raises:
        CorruptTable: a run is not sorted.
    """
    live = [cursor for cursor in cursors if not cursor.is_exhausted]
    while live:
        horizon = min(cursor.horizon for cursor in live)
        taken = [piece for cursor in live for piece in cursor.take_upto(horizon)]
        merged = taken[0].piece if len(taken) == 1 else _reduce(taken, spec)
        yield _without_retracted(merged, spec) if last_pass else merged
        for cursor in live:
            cursor.fill()
        live = [cursor for cursor in live if not cursor.is_exhausted]


@dataclass(frozen=True, slots=True)
class _Groups:
    """Rows in key order, in groups of equal keys.

    `order` lists row numbers in key order, `starts` the positions in it at which groups begin.
    """

    order: IntPart
    starts: IntPart

    @property
    def sizes(self) -> IntPart:
        return np.diff(self.starts, append=len(self.order))


def _reduce(taken: Sequence[KeyedPiece], spec: MergeSpec) -> Piece:
    """One record a key out of the rows of a round; the payload is gathered once, at the end."""
    groups = _group_by_key(rank_rows(concat_parts([piece.keys for piece in taken])))
    rows = _concat([piece.piece for piece in taken])
    winners = groups.order
    if len(groups.starts) < len(groups.order):
        winners = winners[_largest_of_each(_sequence(rows, spec)[groups.order], groups)]
    return Piece(
        rows=rows.rows.take(pa.array(winners)),
        runs=rows.runs[winners],
        merged=_merged(rows, groups) if spec.ignore_deletes else None,
    )


def _group_by_key(ranks: IntPart) -> _Groups:
    order = np.argsort(ranks, kind="stable")
    ordered = ranks[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    return _Groups(order, starts)


def _sequence(rows: Piece, spec: MergeSpec) -> IntPart:
    """One number a row: among the records of a key the largest wins, and no two of them are equal."""
    parts = [*spec.sequence_parts(rows.rows), -rows.runs]
    if spec.ignore_deletes:
        parts.insert(0, (~spec.retracts(rows.rows)).astype(np.int64))
    return rank_rows(parts)


def _largest_of_each(values: IntPart, groups: _Groups) -> IntPart:
    """The position of each group's largest value."""
    largest = np.repeat(np.maximum.reduceat(values, groups.starts), groups.sizes)
    return np.flatnonzero(values == largest)


def _merged(rows: Piece, groups: _Groups) -> Mask:
    """Which records stand for several, now or from an earlier pass."""
    merged = groups.sizes > 1
    if rows.merged is not None:
        merged |= np.logical_or.reduceat(rows.merged[groups.order], groups.starts)
    return merged


def _without_retracted(piece: Piece, spec: MergeSpec) -> Piece:
    """Removes the records that must not reach the output.

    With `ignore-delete` a lone delete passes but several deletes of a key leave nothing, as in Paimon's
    `ReducerMergeFunctionWrapper`.
    """
    if spec.drop_deletes:
        doomed = spec.retracts(piece.rows)
    elif piece.merged is not None:
        doomed = spec.retracts(piece.rows) & piece.merged
    else:
        return piece
    if not doomed.any():
        return piece
    merged = None if piece.merged is None else piece.merged[~doomed]
    return Piece(piece.rows.filter(pa.array(~doomed)), piece.runs[~doomed], piece.origin, merged)


def _concat(pieces: Sequence[Piece]) -> Piece:
    merged = None
    if any(piece.merged is not None for piece in pieces):
        merged = np.concatenate([_flags(piece) for piece in pieces])
    return Piece(
        rows=pa.concat_batches([piece.rows for piece in pieces]),
        runs=np.concatenate([piece.runs for piece in pieces]),
        merged=merged,
    )


def _flags(piece: Piece) -> Mask:
    return np.zeros(len(piece.runs), dtype=bool) if piece.merged is None else piece.merged
