"""Drivers as pods.

The pod keeps the driver's result until it is released: a finalizer holds it, even while it is deleted. Every
look is a request of its own, because what events say of a pod may be old.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from lithify.clock import Clock
from lithify.controller.api import Api, Object
from lithify.controller.driver import DriverOrder, DriverState
from lithify.controller.launching.network_policy import belongs_together, network_policy, policy_name
from lithify.controller.launching.pod import (
    DRIVER_LABELS,
    driver_pod,
    executors_of,
    is_owned_by,
    owner_of,
    pod_key,
)
from lithify.controller.launching.pod import PodSettings as PodSettings
from lithify.controller.launching.pod_state import state_of
from lithify.errors import ClusterConflict, ClusterExists, ClusterRefused, ClusterUnavailable, InvalidOption
from lithify.resources.names import FINALIZER_DRIVER, NETWORK_POLICY, POD, ObjectKey

_TRIES = 5


class KubernetesLauncher:
    """A `Launcher` of pods."""

    def __init__(self, api: Api, settings: PodSettings, clock: Clock) -> None:
        self._api = api
        self._settings = settings
        self._clock = clock

    async def start(self, order: DriverOrder) -> DriverState:
        """Creates the pod, or returns the driver in the one that there is.

        Raises:
            ClusterRefused: the policy's Spark template, or the API server, does not allow it.
        """
        try:
            pod = driver_pod(order, self._settings)
        except InvalidOption as error:
            raise ClusterRefused(f"start of {order.key}", str(error)) from error
        if self._settings.isolated:
            await self._isolate(pod)
        for _ in range(_TRIES):
            try:
                return self._state(await self._api.create(POD, order.key.namespace, pod))
            except ClusterExists:
                if (found := await self.look(order.key)) is not None:
                    return found
        raise ClusterUnavailable(f"start of {order.key}", "its pod comes and goes")

    async def look(self, key: ObjectKey) -> DriverState | None:
        """The driver in the pod, None if there is no pod."""
        pod = await self._api.get(POD, pod_key(key))
        return None if pod is None else self._state(pod)

    async def stop(self, key: ObjectKey, driver_uid: str) -> None:
        """Deletes the pod, which has its kubelet end the driver; the finalizer keeps the rest."""
        await self._api.delete(POD, pod_key(key), uid=driver_uid)

    async def release(self, key: ObjectKey, driver_uid: str, *, remove: bool) -> None:
        """Takes the finalizer away; deletes the pod before that if it is to be removed.

        Executors are deleted in any case: those of a driver that was killed outlive it, and its pod may stay.
        """
        if remove:
            await self._api.delete(POD, pod_key(key), uid=driver_uid)
        for _ in range(_TRIES):
            pod = await self._api.get(POD, pod_key(key))
            if pod is None or pod["metadata"]["uid"] != driver_uid:
                return
            await self._delete_executors(pod)
            await self._open(pod)
            try:
                await self._unhold(pod)
            except ClusterConflict:
                continue
            return
        raise ClusterUnavailable(f"release of {key}", "others keep changing its pod")

    async def all(self) -> list[tuple[ObjectKey, str]]:
        """The drivers whose pods have our finalizer."""
        pods = await self._api.list(POD, labels=DRIVER_LABELS)
        held = [pod for pod in pods if FINALIZER_DRIVER in (pod["metadata"].get("finalizers") or [])]
        found = [(_compaction_of(pod), pod["metadata"]["uid"]) for pod in held]
        return [(key, uid) for key, uid in found if key is not None]

    async def watch(self) -> None:
        """Waits: the operator is told of pods by their events."""
        await asyncio.Event().wait()

    def on_change(self, tell: Callable[[ObjectKey], None]) -> None:
        """Tells nothing: pods have events, which the operator hears like those of its own objects."""

    async def _isolate(self, pod: Object) -> None:
        """Makes the run's NetworkPolicy, before there is a pod that it has to protect."""
        policy = network_policy(pod, self._settings.egress)
        with suppress(ClusterExists):
            await self._api.create(NETWORK_POLICY, pod["metadata"]["namespace"], policy)

    async def _open(self, pod: Object) -> None:
        """Deletes the run's NetworkPolicy; an operator that makes none may have no right to ask for one."""
        name = policy_name(pod)
        if not self._settings.isolated or not name:
            return
        key = ObjectKey(pod["metadata"]["namespace"], name)
        policy = await self._api.get(NETWORK_POLICY, key)
        if policy is not None and belongs_together(policy, pod):
            await self._api.delete(NETWORK_POLICY, key, uid=policy["metadata"]["uid"])

    async def _delete_executors(self, driver: Object) -> None:
        selector = executors_of(driver)
        namespace = driver["metadata"]["namespace"]
        for pod in await self._api.list(POD, namespace, selector) if selector else ():
            if is_owned_by(pod, driver["metadata"]["uid"]):
                name = ObjectKey(namespace, pod["metadata"]["name"])
                await self._api.delete(POD, name, uid=pod["metadata"]["uid"])

    async def _unhold(self, pod: Object) -> None:
        metadata = pod["metadata"]
        others = [name for name in metadata.get("finalizers") or [] if name != FINALIZER_DRIVER]
        if others == (metadata.get("finalizers") or []):
            return
        patch: dict[str, Any] = {
            "metadata": {
                "uid": metadata["uid"],
                "resourceVersion": metadata["resourceVersion"],
                "finalizers": others or None,
            }
        }
        await self._api.patch(POD, ObjectKey(metadata["namespace"], metadata["name"]), patch)

    def _state(self, pod: Object) -> DriverState:
        return state_of(pod, self._clock.now())


def _compaction_of(pod: Object) -> ObjectKey | None:
    owner = owner_of(pod)
    return None if owner is None else ObjectKey(pod["metadata"]["namespace"], str(owner["name"]))
