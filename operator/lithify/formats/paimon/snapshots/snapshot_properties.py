"""The properties with which our attempts mark their snapshots, and what tells two snapshots apart.

Written by `committer`; read where our own commits are looked for: restarts, clean-up, observations. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pypaimon.snapshot.snapshot import Snapshot

OWN_PREFIX = "lithify."
"""How the names of all these properties begin."""

ATTEMPT_PROPERTY = "lithify.attempt"
"""The snapshot property that holds the prefix of the attempt that committed it."""

RUN_PROPERTY = "lithify.run"
"""The snapshot property with the id of the run that committed it."""

TO_COME_PROPERTY = "lithify.to-come"
"""The snapshot property with the number of buckets that its run had not begun yet; absent in the last step.
"""

BASE_PROPERTY = "lithify.base"
"""The snapshot property that identifies the base snapshot among all that had its number."""

FULL_PROPERTY = "lithify.full-of"
"""The snapshot property with the base of a full compaction's plan; only its last step has it."""

_NUMBER = re.compile(r"[0-9]{1,19}")


def own_properties(snapshot: Snapshot) -> Mapping[str, str]:
    """The properties of a snapshot that one of our attempts has committed; empty for any other.

    Java passes all properties of a snapshot on when it merges manifests, and Paimon 2.0 also when it rolls
    back by a commit. So the delta's name is checked: ours has the attempt's prefix.
    """
    properties: Mapping[str, str] = snapshot.properties or {}
    prefix = properties.get(ATTEMPT_PROPERTY)
    is_ours = prefix is not None and snapshot.delta_manifest_list.startswith(f"manifest-list-{prefix}")
    return properties if is_ours else {}


def is_last_step(snapshot: Snapshot) -> bool:
    """Whether a snapshot completed the plan of its run."""
    return TO_COME_PROPERTY not in own_properties(snapshot)


def full_base(snapshot: Snapshot) -> int | None:
    """The snapshot that a full compaction of ours was planned on, if this one is its last; else None."""
    number = own_properties(snapshot).get(FULL_PROPERTY, "")
    return int(number) if _NUMBER.fullmatch(number) else None


def is_same(one: Snapshot, other: Snapshot) -> bool:
    """Whether two objects are the same snapshot.

    Catalog servers built on Paimon before 2.0 drop the UUID, but the name of the delta is unique as well.
    """
    return bool(one.delta_manifest_list == other.delta_manifest_list)


def base_mark(base: Snapshot) -> str:
    """The value of `BASE_PROPERTY` for a base snapshot."""
    return f"{base.id} {base.delta_manifest_list}"
