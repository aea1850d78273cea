"""How long attempts may be silent: until they may not commit, and until others may delete their files."""

from __future__ import annotations

from datetime import timedelta

SAFE_AGE = timedelta(days=1)
"""Silence after which an attempt can no longer commit, so that its unreferenced files may be deleted."""

COMMIT_AGE = SAFE_AGE / 2
"""Time after its last heartbeat in which an attempt may commit or renew it.

The difference to SAFE_AGE allows for clock differences.
"""

RENEWED_EVERY = timedelta(minutes=30)
"""Interval between heartbeats of a living attempt."""

LINGERING = timedelta(hours=1)
"""Time after an attempt in which its tasks may still write, its requests arrive, and others rename."""
