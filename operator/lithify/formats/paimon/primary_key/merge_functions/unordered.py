"""Why rows with a NaN in the key or in a sequence field are not merged."""

from __future__ import annotations

NO_ORDER = (
    "a value of the key or sequence is NaN, which Paimon 1.4 holds equal to every number, so that the result "
    "of a compaction would depend on the order of the files; delete or overwrite such rows first"
)
"""Reason why rows with a NaN there are not merged."""
