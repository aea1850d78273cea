"""The properties of snapshots that every commit has to hand on to the next.

Called by `commit`. Pure. Paimon from 2.0 on has one: the greatest sequence number so far, from which writers
with `write.sequence-number-init-mode = snapshot` go on. They look at no files then, so it must never fall
behind; where it is missing they look at the files, as always. Source: `SequenceSnapshotProperties`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lithify.tables.paimon.metadata.entries import ADD, ManifestEntry

GREATEST_SEQUENCE = "sequence.generation.max-sequence-number"
_LONG = re.compile(r"-?[0-9]{1,19}")


def inherited_properties(
    properties: Mapping[str, str] | None, entries: Iterable[ManifestEntry]
) -> dict[str, str]:
    """What the next snapshot takes over.

    Args:
        properties: of the snapshot before.
        entries: what the next one adds and removes.
    """
    known = (properties or {}).get(GREATEST_SEQUENCE)
    if known is None or not _LONG.fullmatch(known):
        return {}
    added = (entry.file.max_sequence for entry in entries if entry.kind == ADD)
    return {GREATEST_SEQUENCE: str(max([int(known), *added]))}
