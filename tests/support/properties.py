"""How often properties are tried: as often as they say, or less in a hurry (`make check`)."""

from __future__ import annotations

from hypothesis import settings

_USUAL = 100


def examples(count: int) -> int:
    """So many examples, but no more than a quick profile has."""
    most = settings.default.max_examples if settings.default else _USUAL
    return count if most >= _USUAL else min(count, most)
