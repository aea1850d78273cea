"""The real shell and the real state machine in a world where anything may happen in any order."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from lithify.resources.names import ObjectKey
from support.properties import examples
from support.running.model import Runs
from unit.controller.reconciling.shell import TEAM, Leases, ShellOperator


class ShellRuns(Runs):
    """As `Runs`, but what works is the operator's own shell, over Leases and requests that may fail."""

    def __init__(self) -> None:
        super().__init__()
        self.leases = Leases()
        self.operator = ShellOperator(self.world, self.leases)

    @rule(fault=st.sampled_from(["before", "after", "restart"]))
    def fail(self, fault: str) -> None:
        if fault == "restart":
            self.operator.close()
            self.operator = ShellOperator(self.world, self.leases)
            self.operator.sweep()
        else:
            self.world.fault = fault

    def is_quiet(self) -> bool:
        quiet = super().is_quiet()
        return quiet and not self.operator.aside

    def teardown(self) -> None:
        super().teardown()
        self.operator.sweep()
        self.operator.close()
        held = {lease["spec"]["holderIdentity"].split("/")[1] for lease in self.leases.bodies.values()}
        assert not held & self.world.runs.keys(), "a run that is over keeps its table"
        assert not self.operator.shell.unreleased & {ObjectKey(TEAM, name) for name in self.world.runs}


TestShellRuns = ShellRuns.TestCase
TestShellRuns.settings = settings(
    max_examples=int(os.environ.get("LITHIFY_MODEL_EXAMPLES", examples(25))),
    stateful_step_count=int(os.environ.get("LITHIFY_MODEL_STEPS", "40")),
    deadline=None,
    # Shrinking takes minutes, and what fails here can be found again: ask for it.
    phases=[Phase.generate, *([Phase.shrink] if "LITHIFY_MODEL_SHRINK" in os.environ else [])],
    derandomize="LITHIFY_MODEL_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
