"""Asks `judge` (its sources are beside) what Prometheus, its operator and Argo CD make of our files."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from infrastructure.chart.programs import judge

Answer = Mapping[str, Any]


def ask(questions: Sequence[Mapping[str, Any]]) -> list[Answer]:
    """Answers to questions: `query` (PromQL), `object` (of its operator), or `script` and `object`."""
    asked = json.dumps(list(questions))
    result = subprocess.run([str(judge())], input=asked, capture_output=True, text=True, check=True)
    answers: list[Answer] = json.loads(result.stdout)
    return answers


@dataclass(frozen=True, slots=True)
class Values:
    """A result of a query over time.

    Attributes:
        labels: its labels, the name of the series among them.
        points: a time, in seconds since the epoch, and a value each.
    """

    labels: Mapping[str, str]
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Span:
    """The times at which queries are asked, in seconds since the epoch.

    Attributes:
        start: the first.
        end: the last, or what is before it.
        step: between two of them.
        lookback: seconds for which a value holds that none follows; by default Prometheus's.
    """

    start: float
    end: float
    step: float
    lookback: float = 300.0


def evaluate(history: Sequence[Values], queries: Sequence[str], span: Span) -> list[list[Values]]:
    """What Prometheus's own engine makes of queries over a history that it has scraped, finite values only.

    Raises:
        ValueError: a query cannot be evaluated.
    """
    series = [{"labels": dict(one.labels), "points": list(one.points)} for one in history]
    (answer,) = ask([{"evaluation": {"history": series, "queries": list(queries), **asdict(span)}}])
    found = []
    for query, result in zip(queries, answer["results"], strict=True):
        if "problem" in result:
            raise ValueError(f"{query}: {result['problem']}")
        found.append([Values(one["labels"], [(t, v) for t, v in one["points"]]) for one in result["series"]])
    return found
