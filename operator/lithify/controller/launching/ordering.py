"""Makes instructions for drivers from orders. Pure; called by the launchers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from lithify.contract.executors import ExecutorSizing
from lithify.contract.order import Instructions, MemberInstructions
from lithify.controller.driver import DriverOrder
from lithify.io.access_policy import DRIVER, AccessPolicy
from lithify.resources.quantities import quantity_bytes


def instructions_of(
    order: DriverOrder,
    *,
    master: str,
    conf: Mapping[str, str],
    credentials: Mapping[str, str] | None = None,
    executor_template: Mapping[str, Any] | None = None,
    sizing: ExecutorSizing | None = None,
    reach: AccessPolicy = DRIVER,
) -> Instructions:
    """The instructions for an attempt; credentials come from a mounted Secret unless they are passed."""
    reference = order.secret_ref
    mounts = reference if credentials is None else None
    commit_every = order.spark.commit_every
    return Instructions(
        run=order.uid,
        attempt=order.attempt,
        table=replace(order.table, reach=reach),
        selection=order.selection,
        maintenance=order.maintenance,
        canary=order.canary,
        secret=mounts.name if mounts else "",
        credential_files=dict(mounts.options) if mounts else {},
        credentials=credentials or {},
        task_memory=task_memory(order),
        task_size=_task_size(order),
        task_share=1 / order.memory_factor,
        commit_every=None if commit_every is None else int(quantity_bytes(commit_every)),
        master=master,
        conf=conf,
        executor_template=executor_template,
        sizing=sizing,
        patience=None if sizing is None else order.scheduling_seconds,
    )


def shared_instructions(lead: Instructions, orders: Sequence[DriverOrder]) -> Instructions:
    """The instructions for a driver that several runs share, made from those for the first one alone."""
    return replace(lead, members=tuple(_member_of(order, lead.table.reach) for order in orders))


def _member_of(order: DriverOrder, reach: AccessPolicy) -> MemberInstructions:
    """A run of a shared driver; the catalog's options, which may be long, are the first one's."""
    table = replace(order.table, reach=reach, catalog_options={})
    return MemberInstructions(
        run=order.uid,
        table=table,
        selection=order.selection,
        maintenance=order.maintenance,
        canary=order.canary,
    )


def task_memory(order: DriverOrder) -> int:
    """Bytes that one task's merge may use: raised after an attempt that ran out of memory."""
    return int(quantity_bytes(order.spark.task_memory) * order.memory_factor)


def _task_size(order: DriverOrder) -> int | None:
    size = order.spark.task_size
    return None if size is None else int(quantity_bytes(size) / order.memory_factor)
