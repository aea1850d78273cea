"""Drivers as pods.

The pod keeps the driver's result until it is released: a finalizer holds it, even while it is deleted. Every
observation is a request of its own, because a pod in an event may be outdated. Only pods that `ownership`
identifies as a Compaction's driver are read, changed or deleted, whatever their names.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from lithify.clock import Clock
from lithify.controller.api import Api, Object
from lithify.controller.driver import DriverOrder, DriverPhase, DriverState, SharedDrivers
from lithify.controller.launching.network_policy import belongs_together, network_policy, policy_name
from lithify.controller.launching.ownership import (
    compaction_of,
    is_owned_by,
    metadata_of,
    text_in,
    texts_in,
)
from lithify.controller.launching.pod import (
    DRIVER_LABELS,
    driver_pod,
    executors_of,
    pod_key,
)
from lithify.controller.launching.pod import PodSettings as PodSettings
from lithify.controller.launching.pod_state import executors_text, state_of
from lithify.controller.launching.shared_pods import SharedPods, members_of
from lithify.errors import (
    AccountMissing,
    ClusterConflict,
    ClusterError,
    ClusterExists,
    ClusterRefused,
    ClusterUnavailable,
    InvalidOption,
    NameTaken,
)
from lithify.resources.names import FINALIZER_DRIVER, NETWORK_POLICY, POD, ObjectKey

_log = logging.getLogger(__name__)
_TRIES = 5
_ACCOUNT_MISSING = "error looking up service account"
"""Start of the API server's message for a pod whose service account is missing."""


class KubernetesLauncher:
    """A `Launcher` of pods."""

    def __init__(self, api: Api, settings: PodSettings, clock: Clock) -> None:
        self._api = api
        self._settings = settings
        self._clock = clock
        self._elsewhere: dict[ObjectKey, ObjectKey] = {}
        """Drivers' pods with another name than `pod_key` gives: an older release started them."""

    async def start(self, order: DriverOrder) -> DriverState:
        """Creates the pod, or returns the driver in an existing one.

        Raises:
            AccountMissing: the driver's service account does not exist.
            ClusterRefused: the policy's Spark template, or the API server, does not allow it.
            NameTaken: another owner's pod has the name.
        """
        try:
            pod = driver_pod(order, self._settings)
        except InvalidOption as error:
            raise ClusterRefused(f"start of {order.key}", str(error)) from error
        if self._settings.isolated:
            await self.isolate(pod)
        for _ in range(_TRIES):
            if order.key in self._elsewhere and (found := await self.observe(order.key)) is not None:
                return found
            try:
                return self.state(await self._api.create(POD, order.key.namespace, pod))
            except ClusterExists:
                if (found := await self._in_place(order.key)) is not None:
                    return found
            except ClusterRefused as error:
                raise self.account_missing(error, order) or error from error
        raise ClusterUnavailable(f"start of {order.key}", "its pod is repeatedly created and deleted")

    def account_missing(self, error: ClusterRefused, order: DriverOrder) -> AccountMissing | None:
        """The error for a refused pod whose service account does not exist; None for other refusals."""
        if _ACCOUNT_MISSING not in error.problem:
            return None
        return AccountMissing(error.request, order.key.namespace, order.spark.service_account_name)

    async def observe(self, key: ObjectKey) -> DriverState | None:
        """The driver in the pod, None if there is no pod, or one that is not this Compaction's."""
        pod = await self._pod(key)
        return None if pod is None else await self.with_executors(pod, self.state(pod))

    async def stop(self, key: ObjectKey, driver_uid: str) -> None:
        """Deletes the pod, so that the kubelet ends the driver; the finalizer keeps the object."""
        await self._api.delete(POD, self._name(key), uid=driver_uid)

    async def release(self, key: ObjectKey, driver_uid: str, *, remove: bool) -> None:
        """Removes the finalizer; deletes the pod before that if it is to be removed.

        Executors are deleted in any case: those of a killed driver outlive it, and its pod may stay.
        """
        if remove:
            await self._api.delete(POD, self._name(key), uid=driver_uid)
        for _ in range(_TRIES):
            pod = await self._pod(key)
            if pod is None or pod["metadata"]["uid"] != driver_uid:
                return
            try:
                await self.let_go(pod)
            except ClusterConflict:
                continue
            return
        raise ClusterUnavailable(f"release of {key}", "other clients keep changing its pod")

    async def let_go(self, pod: Object) -> None:
        """Deletes executors and the NetworkPolicy of the run, and removes the finalizer.

        Raises:
            ClusterConflict: the pod has changed since it was read.
        """
        await self._delete_executors(pod)
        await self._open(pod)
        await self._unhold(pod)

    @property
    def shared(self) -> SharedDrivers:
        """Runs shared drivers."""
        return SharedPods(self._api, self._settings, self)

    async def all(self) -> list[tuple[ObjectKey, str]]:
        """Returns the drivers whose pods have our finalizer, except shared ones.

        It also records the names of pods that an older release started, so it must be called first.
        """
        pods = await self._api.list(POD, labels=DRIVER_LABELS)
        pods = [pod for pod in pods if not members_of(pod)]
        owned = [(key, pod) for pod in pods if (key := _compaction_of(pod)) is not None]
        names = [(key, _key(pod)) for key, pod in owned]
        in_place = {key for key, name in names if name == pod_key(key)}
        self._elsewhere |= {key: name for key, name in names if key not in in_place}
        return [(key, pod["metadata"]["uid"]) for key, pod in owned if _is_held(pod)]

    async def watch(self) -> None:
        """Waits for ever: the operator receives changes of pods as events."""
        await asyncio.Event().wait()

    def on_change(self, tell: Callable[[ObjectKey], None]) -> None:
        """Does nothing: the operator receives changes of pods as events."""

    async def isolate(self, pod: Object) -> None:
        """Creates the run's NetworkPolicy, before the pod that it protects."""
        policy = network_policy(pod, self._settings.egress)
        with suppress(ClusterExists):
            await self._api.create(NETWORK_POLICY, pod["metadata"]["namespace"], policy)

    async def _open(self, pod: Object) -> None:
        """Deletes the run's NetworkPolicy; an operator that makes none may lack the permission."""
        name = policy_name(pod)
        if not self._settings.isolated or not name:
            return
        key = ObjectKey(pod["metadata"]["namespace"], name)
        policy = await self._api.get(NETWORK_POLICY, key)
        if policy is not None and belongs_together(policy, pod):
            await self._api.delete(NETWORK_POLICY, key, uid=policy["metadata"]["uid"])

    async def _in_place(self, key: ObjectKey) -> DriverState | None:
        """The driver in the pod of a Compaction's name, None if the pod is gone."""
        pod = await self._api.get(POD, pod_key(key))
        if pod is None:
            return None
        if compaction_of(pod) != key:
            problem = (
                f"pod {pod_key(key).name} exists and is not the driver of this Compaction, so it is left "
                "alone; delete it, or create a Compaction of another name"
            )
            raise NameTaken(f"start of {key}", problem)
        return self.state(pod)

    def _name(self, key: ObjectKey) -> ObjectKey:
        return self._elsewhere.get(key) or pod_key(key)

    async def _pod(self, key: ObjectKey) -> Object | None:
        """The pod of a Compaction's driver; None if there is none or another owner's pod has its name."""
        pod = await self._api.get(POD, self._name(key))
        if pod is not None and compaction_of(pod) == key:
            return pod
        if self._elsewhere.pop(key, None) is None:
            return None
        return await self._pod(key)

    async def with_executors(self, pod: Object, state: DriverState) -> DriverState:
        """Adds why no executor has started, if the driver waits for one."""
        lacks = state.progress is not None and state.progress.lacks_executors
        if state.phase is not DriverPhase.RUNNING or not lacks:
            return state
        try:
            return replace(state, executors=executors_text(await self._executors(pod)))
        except ClusterError:
            return state  # the state of the driver is still known

    async def _executors(self, driver: Object) -> list[Object]:
        """The pods of a driver's executors."""
        selector, metadata = executors_of(driver), driver["metadata"]
        pods = await self._api.list(POD, metadata["namespace"], selector) if selector else []
        return [pod for pod in pods if is_owned_by(pod, metadata["uid"])]

    async def _delete_executors(self, driver: Object) -> None:
        """Deletes all executors that can be deleted, then raises the error of a remaining one."""
        problem: ClusterError | None = None
        for pod in await self._executors(driver):
            try:
                await self._api.delete(POD, _key(pod), uid=text_in(metadata_of(pod), "uid"))
            except ClusterError as error:
                problem = error
        if problem is not None:
            raise problem

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
        await self._api.patch(POD, _key(pod), patch)

    def state(self, pod: Object) -> DriverState:
        """The driver in a pod."""
        return state_of(pod, self._clock.now())


def _compaction_of(pod: Object) -> ObjectKey | None:
    """The Compaction whose driver a pod is; logs a pod that has our finalizer without being a driver."""
    key = compaction_of(pod)
    if key is None and _is_held(pod):
        _log.warning(
            "a pod with our finalizer is not the driver of a Compaction: left alone", extra=_fields(pod)
        )
    return key


def _is_held(pod: Object) -> bool:
    return FINALIZER_DRIVER in texts_in(metadata_of(pod), "finalizers")


def _key(pod: Object) -> ObjectKey:
    metadata = metadata_of(pod)
    return ObjectKey(text_in(metadata, "namespace"), text_in(metadata, "name"))


def _fields(pod: Object) -> dict[str, str]:
    return {"namespace": _key(pod).namespace, "object": _key(pod).name}
