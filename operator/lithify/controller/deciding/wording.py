"""Formats lists of names, and findings, for messages, the same in all of status. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from lithify.formats.protocol.observation import Finding


def names_text(names: Iterable[str], most: int = 3) -> str:
    """The first names in alphabetical order, and the number of the others."""
    found = sorted(names)
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return f"{', '.join(found[:most])}{more}"


def finding_text(finding: Finding) -> str:
    """A finding as a sentence, with the number of other buckets or partitions that it applies to."""
    others = finding.buckets - 1
    more = f" (and {others} more like it)" if others > 0 else ""
    return f"{finding.trigger}: {finding.detail}{more}"
