"""The groups of a table that cannot be compacted: remembered and reported until their files change.

Pure. Called by `history` with the findings of runs, by `conditions` with those of an observation, and by
`reconciling`, which passes the blocked groups to observations and runs so that neither takes them for work.
An entry is removed only by an observation that received it and does not confirm it: one that began before
knows nothing of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from lithify.amounts import count_of
from lithify.controller.deciding.condition_builder import ConditionBuilder
from lithify.formats.protocol.model import BlockedGroup
from lithify.formats.protocol.observation import Observation
from lithify.plain_text import plain_line
from lithify.resources.compaction import Compaction
from lithify.resources.figures import GROUP_LENGTH
from lithify.resources.objects import shortened
from lithify.resources.table import (
    MOST_BLOCKED,
    BlockReason,
    BucketBlock,
    LakeTableStatus,
)

BUCKETS_BLOCKED = "BucketsBlocked"
NONE_BLOCKED = "NoneBlocked"

_LONGEST = 200
_NAMED = 3
"""Number of groups that a message names; status lists the others."""
_REMEDY = (
    "They are left out until their files change; see status.blockedBuckets. After you restore a file, "
    "request a compaction with the annotation lithify.dev/requested-at"
)


def held_by(status: LakeTableStatus) -> dict[str, str]:
    """Fingerprints by path of the groups that observations and runs must leave out."""
    return {block.bucket: block.fingerprint for block in status.blocked_buckets}


def after_run(status: LakeTableStatus, run: Compaction) -> LakeTableStatus:
    """The status with the groups that a run could not compact."""
    found = run.status.blocked_buckets
    if not run.status.blocked_bucket_count:
        return status
    known = _merged(status.blocked_buckets, found)
    count = max(len(known), run.status.blocked_bucket_count)
    return replace(status, blocked_buckets=known[:MOST_BLOCKED], blocked_bucket_count=count)


def after_observation(status: LakeTableStatus, seen: Observation, held: Mapping[str, str]) -> LakeTableStatus:
    """The status with the groups that an observation found or confirmed; removes those not confirmed.

    Args:
        status: of the table.
        seen: the observation.
        held: the fingerprints that it received; see `held_by`.
    """
    confirmed = {each.group: each.fingerprint for each in seen.blocked}
    kept = [
        block
        for block in status.blocked_buckets
        if held.get(block.bucket) != block.fingerprint or confirmed.get(block.bucket) == block.fingerprint
    ]
    known = {block.bucket for block in kept}
    new = [BucketBlock.of(each) for each in seen.blocked if _is_new(each, known)]
    blocks = (*kept, *new)[:MOST_BLOCKED]
    is_complete = len(kept) + len(new) < MOST_BLOCKED
    count = len(blocks) if is_complete else max(status.blocked_bucket_count, len(seen.blocked), len(blocks))
    return replace(status, blocked_buckets=blocks, blocked_bucket_count=count)


def say_blocked(conditions: ConditionBuilder, status: LakeTableStatus) -> None:
    """Sets the condition that names the groups, their files and columns."""
    blocks = status.blocked_buckets
    if not blocks:
        conditions.false(BUCKETS_BLOCKED, NONE_BLOCKED, "all groups can be compacted, as far as known")
        return
    reasons = {block.reason for block in blocks}
    corrupt = BlockReason.CORRUPT_FILES
    reason = corrupt if corrupt in reasons else BlockReason.UNSUPPORTED_FILES
    named = "; ".join(f"{block.bucket}: {shortened(block.message, _LONGEST)}" for block in blocks[:_NAMED])
    count = count_of(status.blocked_bucket_count, "group")
    conditions.true(BUCKETS_BLOCKED, reason, f"{count} cannot be compacted: {named}. {_REMEDY}")


def _merged(known: Iterable[BucketBlock], found: Iterable[BucketBlock]) -> tuple[BucketBlock, ...]:
    """The known entries, updated and extended by the found ones."""
    blocks = {block.bucket: block for block in known}
    blocks.update((block.bucket, block) for block in found)
    return tuple(blocks.values())


def _is_new(blocked: BlockedGroup, known: Iterable[str]) -> bool:
    """Whether status can store the name unchanged, so that observations can confirm the entry."""
    return blocked.group not in known and plain_line(blocked.group, GROUP_LENGTH) == blocked.group
