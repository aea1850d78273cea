"""Drivers as pods that several Compactions share.

Used by `kubernetes`. All of them own the pod, so that it is deleted with the last of them. An annotation
lists the members, because owners that are gone are removed from the owner references; it counts only on a pod
whose name, labels and owner references agree with it. Outcomes of single runs, and requests to stop one, are
annotations, too. An outcome counts only for the member whose run it names.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol

from lithify.contract.outcome import Outcome, read_outcome, read_shared_outcome
from lithify.controller.api import Api, Object
from lithify.controller.deciding.names import label_value
from lithify.controller.driver import DriverOrder, DriverState, Member, SharedDriver
from lithify.controller.launching.ownership import mapping_in, metadata_of, owners_of, text_in
from lithify.controller.launching.pod import (
    DRIVER_LABELS,
    DRIVER_ROLE,
    LABEL_MANAGER,
    LABEL_ROLE,
    MANAGER,
    PodSettings,
    driver_pod,
    shared_pod_key,
)
from lithify.errors import (
    AccountMissing,
    ClusterConflict,
    ClusterExists,
    ClusterRefused,
    ClusterUnavailable,
    InvalidOption,
)
from lithify.resources.names import (
    ANNOTATION_MEMBERS,
    LABEL_COMPACTION,
    LABEL_SHARED,
    OUTCOME_PREFIX,
    POD,
    STOP_PREFIX,
    ObjectKey,
)

_log = logging.getLogger(__name__)
_TRIES = 5
_LONGEST_MEMBERS = 32_768


class DriverPods(Protocol):
    """What pods of one run and shared ones have in common."""

    async def isolate(self, pod: Object) -> None:
        """Creates the NetworkPolicy of a driver's pod."""
        ...

    def account_missing(self, error: ClusterRefused, order: DriverOrder) -> AccountMissing | None:
        """The error for a missing service account; None if a pod was refused for another reason."""
        ...

    def state(self, pod: Object) -> DriverState:
        """The state of the driver in a pod."""
        ...

    async def with_executors(self, pod: Object, state: DriverState) -> DriverState:
        """The state of a driver, with what its executors tell."""
        ...

    async def let_go(self, pod: Object) -> None:
        """Removes the finalizer of a pod, after its executors and its NetworkPolicy.

        Raises:
            ClusterConflict: the pod has changed since it was read.
        """
        ...


class SharedPods:
    """The `SharedDrivers` of a launcher of pods."""

    def __init__(self, api: Api, settings: PodSettings, launcher: DriverPods) -> None:
        self._api = api
        self._settings = settings
        self._launcher = launcher

    async def start(self, orders: Sequence[DriverOrder]) -> None:
        """Creates the pod, unless one of its name exists.

        Raises:
            AccountMissing: the driver's service account does not exist.
            ClusterRefused: the policy's Spark template, or the API server, does not allow it; or a pod of
                its name exists that is not this driver.
        """
        lead = orders[0]
        try:
            pod = driver_pod(lead, self._settings, orders)
        except InvalidOption as error:
            raise ClusterRefused(f"start of {lead.key}", str(error)) from error
        if self._settings.isolated:
            await self._launcher.isolate(pod)
        try:
            await self._api.create(POD, lead.key.namespace, pod)
        except ClusterExists:
            await self._check_in_place(lead)
        except ClusterRefused as error:
            missing = self._launcher.account_missing(error, lead)
            raise missing or error from error

    async def observe(self, lead: ObjectKey) -> SharedDriver | None:
        """The driver in the pod, None if there is no such pod."""
        pod = await self._pod(lead)
        return None if pod is None else await self._found(lead, pod)

    async def stop_member(self, driver: SharedDriver, uid: str) -> None:
        """Annotates the pod; the driver polls its annotations."""
        key = shared_pod_key(driver.lead)
        metadata = {"uid": driver.state.uid, "annotations": {f"{STOP_PREFIX}{uid}": "true"}}
        with suppress(ClusterConflict):  # it is another pod by now
            await self._api.patch(POD, key, {"metadata": metadata})

    async def stop(self, driver: SharedDriver) -> None:
        """Deletes the pod, so that the kubelet ends the driver; the finalizer keeps the object."""
        await self._api.delete(POD, shared_pod_key(driver.lead), uid=driver.state.uid)

    async def release(self, driver: SharedDriver) -> None:
        """Removes the finalizer, after the executors that may have outlived the driver."""
        for _ in range(_TRIES):
            pod = await self._pod(driver.lead)
            if pod is None or text_in(metadata_of(pod), "uid") != driver.state.uid:
                return
            try:
                await self._launcher.let_go(pod)
            except ClusterConflict:
                continue
            return
        raise ClusterUnavailable(f"release of {driver.lead}", "other clients keep changing its shared pod")

    async def all(self) -> list[SharedDriver]:
        """The shared drivers whose pods have our finalizer."""
        pods = await self._api.list(POD, labels=f"{DRIVER_LABELS},{LABEL_SHARED}")
        leads = [(lead, pod) for pod in pods if (lead := _lead_of(pod)) is not None]
        found = [self._driver(lead, pod) for lead, pod in leads]
        return [driver for driver in found if not driver.state.released]

    async def _check_in_place(self, lead: DriverOrder) -> None:
        """Checks that the pod of the driver's name is this driver, created before a crash for example."""
        pod = await self._pod(lead.key)
        if pod is None or members_of(pod)[0].uid != lead.uid:
            name = shared_pod_key(lead.key).name
            raise ClusterRefused(f"start of {lead.key}", f"pod {name} exists and is not its shared driver")

    async def _pod(self, lead: ObjectKey) -> Object | None:
        pod = await self._api.get(POD, shared_pod_key(lead))
        return pod if pod is not None and _lead_of(pod) == lead else None

    async def _found(self, lead: ObjectKey, pod: Object) -> SharedDriver:
        return self._driver(lead, pod, await self._launcher.with_executors(pod, self._launcher.state(pod)))

    def _driver(self, lead: ObjectKey, pod: Object, state: Any = None) -> SharedDriver:
        annotations, members = mapping_in(metadata_of(pod), "annotations"), members_of(pod)
        marks = (name for name in annotations if name.startswith(STOP_PREFIX))
        return SharedDriver(
            lead,
            state or self._launcher.state(pod),
            members,
            _outcomes(pod, annotations, members),
            frozenset(name.removeprefix(STOP_PREFIX) for name in marks),
        )


def members_of(pod: Mapping[str, Any]) -> tuple[Member, ...]:
    """The Compactions that share a driver's pod, in order; empty if it is no shared driver of the operator's.

    Name, labels and owner references of the pod must agree: an annotation alone proves nothing.
    """
    members = _listed(pod)
    return members if members and _is_shared_by(pod, members) else ()


def _listed(pod: Mapping[str, Any]) -> tuple[Member, ...]:
    text = text_in(mapping_in(metadata_of(pod), "annotations"), ANNOTATION_MEMBERS)
    namespace = text_in(metadata_of(pod), "namespace")
    try:
        found = json.loads(text) if len(text) <= _LONGEST_MEMBERS else []
        return tuple(Member(ObjectKey(namespace, str(name)), str(uid)) for name, uid in found)
    except (ValueError, TypeError, RecursionError):
        return ()


def _is_shared_by(pod: Mapping[str, Any], members: Sequence[Member]) -> bool:
    """Whether a pod is the driver of these Compactions, by all that the operator gives such a pod."""
    metadata, lead = metadata_of(pod), members[0].key
    labels, mark = mapping_in(metadata, "labels"), label_value(lead.name)
    meant = {LABEL_MANAGER: MANAGER, LABEL_ROLE: DRIVER_ROLE, LABEL_COMPACTION: mark, LABEL_SHARED: mark}
    is_named = bool(text_in(metadata, "uid")) and text_in(metadata, "name") == shared_pod_key(lead).name
    owners = {(text_in(one, "name"), text_in(one, "uid")) for one in owners_of(pod) or ()}
    known = {(member.key.name, member.uid) for member in members}
    return is_named and meant.items() <= labels.items() and bool(owners) and owners <= known


def _lead_of(pod: Mapping[str, Any]) -> ObjectKey | None:
    """The Compaction that a shared driver's pod is named after; None for other pods."""
    members = members_of(pod)
    return members[0].key if members else None


def _outcomes(
    pod: Mapping[str, Any], annotations: Mapping[str, Any], members: Sequence[Member]
) -> Mapping[str, Outcome]:
    """The outcomes of members, by uid. An outcome under the uid of another run is not one."""
    last = {outcome.run: outcome for outcome in read_shared_outcome(_last_words(pod))}
    texts = {member.uid: text_in(annotations, f"{OUTCOME_PREFIX}{member.uid}") for member in members}
    read = {uid: read_outcome(text) or last.get(uid) for uid, text in texts.items()}
    return {uid: outcome for uid, outcome in read.items() if outcome is not None and outcome.run == uid}


def _last_words(pod: Mapping[str, Any]) -> str:
    """The driver's termination message."""
    statuses = mapping_in(pod, "status").get("containerStatuses")
    found = [one for one in statuses if isinstance(one, Mapping)] if isinstance(statuses, list) else []
    ended = [mapping_in(mapping_in(one, "state"), "terminated") for one in found]
    return next((text_in(one, "message") for one in ended if one), "")
