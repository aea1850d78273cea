"""Names of files by their paths: what is compared before a file is deleted."""

from __future__ import annotations

import pyarrow as pa
import pytest

from lithify.engine.maintenance.spared_paths import names_of_paths


@pytest.mark.parametrize(
    "path", ["a", "data/a", "s3://lake/t/data//a", "s3://lake/two\nlines/t/data/a", "data/p=\n/a"]
)
def test_name_is_what_follows_the_last_slash(path: str) -> None:
    assert names_of_paths(pa.array([path])).to_pylist() == ["a"]
