"""Snapshot properties that every commit must pass on to the next.

Called by `committer`. Pure. Paimon has one since 2.0: the greatest sequence number so far, from which
writers with `write.sequence-number-init-mode = snapshot` continue. They do not read files then, so it must
never be too low; if it is missing they read the files, as before. Source: `SequenceSnapshotProperties`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from lithify.formats.paimon.manifests.entries import ADD, ManifestEntry

GREATEST_SEQUENCE = "sequence.generation.max-sequence-number"
_LONG = re.compile(r"-?[0-9]{1,19}")


def inherited_properties(
    properties: Mapping[str, str] | None, entries: Iterable[ManifestEntry]
) -> dict[str, str]:
    """The properties that the next snapshot inherits.

    Args:
        properties: properties of the previous snapshot.
        entries: the changes of the next snapshot.
    """
    known = (properties or {}).get(GREATEST_SEQUENCE)
    if known is None or not _LONG.fullmatch(known):
        return {}
    added = (entry.file.max_sequence for entry in entries if entry.kind == ADD)
    return {GREATEST_SEQUENCE: str(max([int(known), *added]))}
