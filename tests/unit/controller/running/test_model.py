"""The state machine in a world where anything may happen in any order, and in the end all is well."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from support.properties import examples
from support.running.model import Runs

TestRuns = Runs.TestCase
TestRuns.settings = settings(
    max_examples=int(os.environ.get("LITHIFY_MODEL_EXAMPLES", examples(40))),
    stateful_step_count=int(os.environ.get("LITHIFY_MODEL_STEPS", "50")),
    deadline=None,
    derandomize="LITHIFY_MODEL_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
