"""The commands of docs/troubleshooting.md, with a run that succeeded and one that ran out of memory."""

from __future__ import annotations

import os
import re
import shlex
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from infrastructure.cluster.kubectl import KubectlFailed
from infrastructure.oracle.client import Table
from lithify.resources.compaction import Reason
from support.operators.objects import NO_RETRIES, QUIET
from support.operators.stage import Stage

PAGE = Path(__file__).parents[3] / "docs" / "troubleshooting.md"
RUN, TABLE = "orders-7-k2x9q", "orders"
"""What the page calls them."""
_COMMAND = re.compile(r"^ *\$ kubectl (.*)$", re.MULTILINE)
_MAY_BE_EMPTY = (
    "get pods",
    "get events --field-selector type=Warning",
    "get laketable orders -o jsonpath='{range .status.b",
)
"""There are no pods here, nothing need have gone wrong, and no bucket is blocked."""
_OF_PODS = ("logs",)


def commands() -> Iterator[str]:
    """Those in blocks of their own, without comments."""
    for found in _COMMAND.findall(PAGE.read_text(encoding="utf-8")):
        yield re.sub(r"\s{2,}#.*$", "", found)


def test_each_command_of_the_page_works(plain: Table, stage: Stage) -> None:
    care = stage.care_for(stage.copied(plain), under={"triggers": QUIET, "retries": NO_RETRIES})
    stage.ended(stage.run(care, "good"))
    with stage.holds.armed("file-written") as hold:
        other = stage.care_for(stage.copied(plain, "bad"), "bad", under=care.policy)
        run = stage.run(other)
        hold.reached()
        for process in stage.operator.driver(run).processes("java"):
            os.kill(process, signal.SIGKILL)
        stage.ended(run)
    stage.stands(run, Reason.OUT_OF_MEMORY)

    tried = list(commands())
    assert len(tried) > 20
    for command in tried:
        named = command.replace(RUN, run).replace(f"laketable {TABLE}", f"laketable {other.lake}")
        arguments = shlex.split(named.replace(f"={TABLE}", f"={other.lake}"))
        if command.startswith(_OF_PODS):
            with pytest.raises(KubectlFailed, match="not found"):
                stage.kubectl(*arguments)
        else:
            printed = stage.kubectl(*arguments)
            assert printed.strip() or command.startswith(_MAY_BE_EMPTY), command
