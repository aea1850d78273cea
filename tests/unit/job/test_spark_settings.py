"""What Spark is told before it starts."""

from __future__ import annotations

from lithify.job.spark import SparkSettings, configuration


def test_callers_change_our_defaults() -> None:
    conf = {"spark.driver.memory": "2g", "spark.eventLog.enabled": "true"}
    assert conf.items() <= configuration(SparkSettings("local[2]", conf)).items()


def test_nobody_switches_speculation_on() -> None:
    """A copy of a task that is killed when the other is done would leave files that nobody knows of."""
    asked = SparkSettings("local[2]", {"spark.speculation": "true"})
    assert configuration(asked)["spark.speculation"] == "false"
