"""What a process that works on tables loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.small_tables import SmallTable

_SOURCES = Path(__file__).resolve().parents[4] / "operator"
_DATA = "import pyarrow as pa; pa.table({'a': pa.array(['b', None])})['a'].to_numpy()"


pytestmark = pytest.mark.thorough


@pytest.mark.parametrize(
    "module",
    [
        "lithify.formats.paimon.primary_key.merge_task",
        "lithify.cli.drive, lithify.formats.paimon.adapter",
        "lithify.formats.paimon.observing.observer",
    ],
)
def test_pandas_is_left_out(module: str) -> None:
    asked = f"import {module}, sys; {_DATA}; print('pandas.core' in sys.modules)"
    assert _answer(asked) == "False"


def test_what_needs_pandas_says_so() -> None:
    asked = (
        "import lithify.formats.paimon.primary_key.merge_task, pyarrow as pa\n"
        "try:\n    pa.array([1]).to_pandas()\n"
        "except ImportError as error:\n    print('pandas' in str(error))"
    )
    assert _answer(asked) == "True"


def test_pandas_that_is_loaded_already_stays() -> None:
    asked = (
        "import pandas, lithify.formats.paimon.primary_key.merge_task, pyarrow as pa; "
        "print(pa.array([1]).to_pandas().sum())"
    )
    assert _answer(asked) == "1"


def _answer(code: str) -> str:
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(_SOURCES)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


_NO_POLARS = """
import sys
from importlib.machinery import PathFinder
found = PathFinder.find_spec
PathFinder.find_spec = classmethod(
    lambda cls, name, path=None, target=None: None if name == "polars" else found(name, path, target)
)
"""


def test_tables_are_looked_at_without_polars(tmp_path: Path) -> None:
    """As in the operator's image, which does not have it."""
    table = SmallTable(tmp_path).create()
    table.append()
    asked = (
        f"{_NO_POLARS}\n"
        "from lithify.formats.paimon.opening import TableAddress, open_table\n"
        f"table = open_table(TableAddress({str(table.warehouse)!r}, 'db.t'))\n"
        "print(len(table.on_newest(table.manifests.live)), len(sys.modules['polars'].__dict__) < 20)"
    )
    assert _answer(asked) == "4 True"
