"""The Spark settings of an attempt, as its instructions say. Used by `execution`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lithify.contract.executors import executor_conf
from lithify.contract.order import Instructions
from lithify.engine.run.spark import SparkSettings
from lithify.resources.compaction import PlanSummary
from lithify.scratch import scratch_folder


@contextmanager
def spark_settings(
    told: Instructions,
    pod_ip: str | None,
    verbose: bool,
    planned: Callable[[], PlanSummary | None] = lambda: None,
) -> Iterator[SparkSettings]:
    """Spark settings; `planned` returns the size of the whole run, as Spark sees only its first step."""

    def sized(size: int, tasks: int) -> dict[str, str]:
        plan = planned()
        if plan is not None:
            size, tasks = max(size, plan.bytes), max(tasks, plan.tasks)
        return {} if told.sizing is None else executor_conf(told.sizing, size, tasks)

    conf = dict(told.conf)
    if pod_ip is not None:
        verbose = True  # a pod's log is where people look for Spark's output
        conf["spark.driver.host"] = f"[{pod_ip}]" if ":" in pod_ip else pod_ip
    with scratch_folder() as folder:
        if told.executor_template is not None:
            template = folder / "executor.json"
            template.write_text(json.dumps(told.executor_template), encoding="utf-8")
            conf["spark.kubernetes.executor.podTemplateFile"] = str(template)
        yield SparkSettings(
            master=told.master,
            conf=conf,
            zone=told.table.zone(),
            verbose=verbose,
            sized=sized,
            patience=told.patience,
        )
