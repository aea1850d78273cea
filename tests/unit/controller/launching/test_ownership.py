"""Whose a pod is: what a name, a label and an owner reference prove, and what they do not."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.controller.driver import Member
from lithify.controller.launching.ownership import compaction_of, is_owned_by, owner_of
from lithify.controller.launching.pod import PodSettings, driver_pod
from lithify.controller.launching.shared_pods import members_of
from lithify.resources.names import ANNOTATION_MEMBERS, LABEL_COMPACTION, LABEL_SHARED, ObjectKey
from support.cases import case
from support.launching.orders import KEY, ORDER, order


def pod(**changes: Any) -> dict[str, Any]:
    """Our own driver's pod, with fields of its metadata replaced."""
    made = driver_pod(order(), PodSettings(image="lithify:1"))
    return {**made, "metadata": {**made["metadata"], "uid": "pod-uid", **changes}}


def owner(**changes: Any) -> list[dict[str, Any]]:
    return [{**pod()["metadata"]["ownerReferences"][0], **changes}]


def test_our_own_pod_is_known_by_label_and_owner_under_any_name() -> None:
    assert compaction_of(pod()) == KEY
    assert compaction_of(pod(name=f"{KEY.name}-driver")) == KEY
    found = owner_of(pod())
    assert found is not None
    assert (found["name"], found["uid"]) == (KEY.name, ORDER.uid)


@pytest.mark.parametrize(
    "changes",
    [
        case({"ownerReferences": []}, id="no owner"),
        case({"ownerReferences": None}, id="owners are null"),
        case({"ownerReferences": ["Compaction"]}, id="owners are no mappings"),
        case({"ownerReferences": owner(kind="Job")}, id="owned by a Job"),
        case({"ownerReferences": owner(apiVersion="batch/v1")}, id="owned by another group's Compaction"),
        case({"ownerReferences": owner(apiVersion="lithify.dev.evil/v1")}, id="owned by a similar group"),
        case({"ownerReferences": owner(controller=False)}, id="owned, not controlled"),
        case({"ownerReferences": owner(uid="")}, id="owned by nobody in particular"),
        case({"ownerReferences": owner(name="another")}, id="owned by another Compaction than labelled"),
        case({"labels": {}}, id="no label"),
        case({"labels": None}, id="labels are null"),
        case({"labels": {LABEL_COMPACTION: "another"}}, id="labelled as another's"),
        case({"uid": None}, id="no uid"),
    ],
)
def test_others_pods_are_not_ours_whatever_their_names(changes: dict[str, Any]) -> None:
    assert compaction_of(pod(**changes)) is None


@pytest.mark.parametrize("made", [{}, {"metadata": None}, {"metadata": []}])
def test_what_is_hardly_a_pod(made: dict[str, Any]) -> None:
    assert (compaction_of(made), owner_of(made), is_owned_by(made, "x")) == (None, None, False)


def test_executors_belong_to_the_pod_whose_uid_they_name() -> None:
    owned = {"metadata": {"ownerReferences": [{"uid": "x"}, {"uid": "y"}, {"uid": ""}]}}
    assert [is_owned_by(owned, uid) for uid in ("y", "z", "")] == [True, False, False]


SHARING = [order(key=ObjectKey(KEY.namespace, name), uid=f"uid-{name}") for name in ("orders-1", "items-1")]


def shared_pod(**changes: Any) -> dict[str, Any]:
    """The pod of our own shared driver, with fields of its metadata replaced."""
    made = driver_pod(SHARING[0], PodSettings(image="lithify:1"), SHARING)
    return {**made, "metadata": {**made["metadata"], "uid": "pod-uid", **changes}}


def shared(name: str, **changes: Any) -> dict[str, Any]:
    """A mapping of the metadata of that pod, with changes."""
    return {**shared_pod()["metadata"][name], **changes}


def owners(**changes: Any) -> list[dict[str, Any]]:
    return [{**one, **changes} for one in shared_pod()["metadata"]["ownerReferences"]]


def test_a_shared_pod_is_known_by_name_labels_and_owners() -> None:
    members = tuple(Member(each.key, each.uid) for each in SHARING)
    assert members_of(shared_pod()) == members
    assert members_of(shared_pod(ownerReferences=owners()[1:])) == members, "the first owner is gone"
    assert compaction_of(shared_pod()) is None


@pytest.mark.parametrize(
    "changes",
    [
        case({"ownerReferences": []}, id="no owner"),
        case({"ownerReferences": owners(controller=True)}, id="controlled by one of them"),
        case({"ownerReferences": owners(kind="Job")}, id="owned by Jobs"),
        case({"ownerReferences": owners(apiVersion="batch/v1")}, id="owned by another group's Compactions"),
        case({"ownerReferences": owners(uid="another")}, id="owned by others of the same names"),
        case({"ownerReferences": owners(name="another")}, id="owned by another than it lists"),
        case({"labels": {}}, id="no labels"),
        case({"labels": shared("labels", **{LABEL_SHARED: "another"})}, id="labelled as another's"),
        case({"labels": shared("labels", **{LABEL_COMPACTION: "another"})}, id="labelled twice"),
        case({"labels": {LABEL_SHARED: "orders-1"}}, id="without the labels of drivers"),
        case({"annotations": {}}, id="no members"),
        case({"annotations": {ANNOTATION_MEMBERS: '[["orders-1", "another"]]'}}, id="members of other uids"),
        case({"name": "another"}, id="under another name"),
        case({"uid": None}, id="no uid"),
    ],
)
def test_a_pod_that_only_looks_shared_has_no_members(changes: dict[str, Any]) -> None:
    assert members_of(shared_pod(**changes)) == ()
