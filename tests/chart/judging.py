"""Asks `judge` (its sources are beside) what Prometheus, its operator and Argo CD make of our files."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from typing import Any

from chart.programs import judge

Answer = Mapping[str, Any]


def ask(questions: Sequence[Mapping[str, Any]]) -> list[Answer]:
    """Answers to questions: `query` (PromQL), `object` (of its operator), or `script` and `object`."""
    asked = json.dumps(list(questions))
    result = subprocess.run([str(judge())], input=asked, capture_output=True, text=True, check=True)
    answers: list[Answer] = json.loads(result.stdout)
    return answers
