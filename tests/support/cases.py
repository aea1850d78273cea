"""Cases of parametrised tests."""

from __future__ import annotations

from typing import Any

import pytest


def case(*values: object, id: str) -> Any:  # noqa: A002  # pytest's own word
    """A row of a table of cases, with its telling id."""
    return pytest.param(*values, id=id)
