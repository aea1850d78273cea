"""The type of keys as bytes. A module of its own, so that planners need no arrays."""

from __future__ import annotations

from typing import NewType

OrderKey = NewType("OrderKey", bytes)
"""A key as bytes whose lexicographic order is the key's order; `order` makes them."""
