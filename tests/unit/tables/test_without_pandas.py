"""What a process that works on tables loads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_SOURCES = Path(__file__).resolve().parents[3] / "operator"
_DATA = "import pyarrow as pa; pa.table({'a': pa.array(['b', None])})['a'].to_numpy()"


pytestmark = pytest.mark.thorough


@pytest.mark.parametrize(
    "module", ["lithify.job.task", "lithify.cli.drive", "lithify.tables.paimon.observation"]
)
def test_pandas_is_left_out(module: str) -> None:
    asked = f"import {module}, sys; {_DATA}; print('pandas.core' in sys.modules)"
    assert _answer(asked) == "False"


def test_what_needs_pandas_says_so() -> None:
    asked = (
        "import lithify.job.task, pyarrow as pa\n"
        "try:\n    pa.array([1]).to_pandas()\n"
        "except ImportError as error:\n    print('pandas' in str(error))"
    )
    assert _answer(asked) == "True"


def test_pandas_that_is_loaded_already_stays() -> None:
    asked = "import pandas, lithify.job.task, pyarrow as pa; print(pa.array([1]).to_pandas().sum())"
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
