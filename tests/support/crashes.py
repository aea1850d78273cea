"""How long what a dead run has left may still be in use."""

from __future__ import annotations

from datetime import timedelta

SETTLED = timedelta(minutes=61)
"""When tasks of an attempt that was condemned now must be over."""
