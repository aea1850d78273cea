"""A kubeconfig that cannot be used is one error that names it, and nothing else is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lithify.controller.cluster.client import load_configuration
from lithify.errors import InvalidOption


@pytest.mark.asyncio
@pytest.mark.parametrize("content", [None, "just a text", "[1, 2]", "current-context: b", "a: [", ""])
async def test_wrong_kubeconfig_is_one_error(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, content: str | None
) -> None:
    file = tmp_path / "kubeconfig"
    if content is not None:
        file.write_text(content)

    with pytest.raises(InvalidOption) as caught:
        await load_configuration(str(file), None)

    assert caught.value.option == "--kubeconfig"
    assert str(file) in str(caught.value)
    assert caplog.records == []
