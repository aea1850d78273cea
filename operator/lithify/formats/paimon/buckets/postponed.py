"""How postponed rows are counted: the trigger that makes a partition due, in numbers and in words.

Used by observations, inspections and plans. Pure.
"""

from __future__ import annotations

from lithify.amounts import bytes_text, count_of
from lithify.formats.paimon.model import POSTPONED
from lithify.formats.protocol.model import TriggerVerdict

TRIGGER = "PostponedFiles"
"""Why rows are moved: they are in the postponed bucket, where readers of the table do not see them."""


def is_postponed(bucket: int) -> bool:
    """Whether a bucket holds rows that are not in their buckets yet."""
    return bucket == POSTPONED


def postponed_verdict(files: int, size: int, place: str = "the partition") -> TriggerVerdict:
    """How many files of how many bytes are postponed in a place, which always makes it due."""
    counted = count_of(files, "postponed file")
    detail = f"{place} has {counted} of {bytes_text(size)}, which readers do not see yet"
    return TriggerVerdict(TRIGGER, fired=True, detail=detail)
