"""The manifests in the docs can be read, and grant no more than the page says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lithify.resources.names import (
    EVENT,
    GROUP,
    LEASE,
    NETWORK_POLICY,
    OWN_KINDS,
    POD,
    SECRET,
    SERVICE_ACCOUNT,
    ResourceKind,
)

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
BLOCK = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
READ = {"get", "list", "watch"}


def manifests(page: Path) -> list[dict[str, Any]]:
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [found for block in blocks for found in yaml.safe_load_all(block)]


SECURITY = manifests(DOCS / "security.md")


def rules(*names: str) -> Iterator[tuple[str, str, str]]:
    """What roles grant: group, resource and verb."""
    for found in SECURITY:
        if found["kind"] in ("Role", "ClusterRole") and found["metadata"]["name"] in names:
            for rule in found["rules"]:
                for group in rule["apiGroups"]:
                    for resource in rule["resources"]:
                        yield from ((group, resource, verb) for verb in rule["verbs"])


def of(kind: ResourceKind, *verbs: str, subresource: str = "") -> set[tuple[str, str, str]]:
    resource = f"{kind.plural}/{subresource}" if subresource else kind.plural
    return {(kind.group, resource, verb) for verb in verbs}


OPERATOR = set(rules("lithify-operator", "lithify-operator-secrets", "lithify-operator-leases"))
DRIVER = set(rules("lithify-driver"))
ROLES = sorted({found["metadata"]["name"] for found in SECURITY if found["kind"].endswith("Role")})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_yaml_in_the_docs_can_be_read(page: Path) -> None:
    for found in manifests(page):
        assert found["apiVersion"]
        assert found["kind"]


@pytest.mark.parametrize("role", ROLES)
def test_secrets_are_never_listed_and_nothing_is_granted_wholesale(role: str) -> None:
    granted = set(rules(role))
    assert granted
    assert {verb for _, resource, verb in granted if resource.startswith("secrets")} <= {"get"}
    assert not any("*" in part for grant in granted for part in grant)
    forbidden = {
        "roles",
        "rolebindings",
        "clusterroles",
        "serviceaccounts/token",
        "pods/exec",
    }
    assert not {resource for _, resource, _ in granted} & forbidden
    assert {verb for _, resource, verb in granted if resource == SERVICE_ACCOUNT.plural} <= {"get"}
    assert not {verb for _, _, verb in granted} & {"impersonate", "escalate", "bind"}


def test_the_operator_has_what_its_requests_need_and_no_more() -> None:
    catalog, table, policy, compaction = OWN_KINDS
    needed = of(SECRET, "get") | of(EVENT, "create") | of(POD, *READ, "create", "delete", "patch")
    needed |= of(catalog, *READ) | of(policy, *READ) | of(table, *READ, "create", "patch", "delete")
    needed |= of(compaction, *READ, "create", "delete")
    needed |= {grant for kind in OWN_KINDS for grant in of(kind, "patch", subresource="status")}
    needed |= of(LEASE, "get", "list", "create", "patch", "delete")
    needed |= of(NETWORK_POLICY, "get", "create", "delete") | of(SERVICE_ACCOUNT, "get")
    assert needed == OPERATOR


def test_drivers_reach_neither_secrets_nor_our_resources() -> None:
    assert {resource for _, resource, _ in DRIVER} == {POD.plural}
    assert GROUP not in {group for group, _, _ in DRIVER}
    assert of(POD, "create", "delete", "patch") <= DRIVER


def test_leases_are_granted_in_the_operators_own_namespace_only() -> None:
    granting = [
        found for found in SECURITY for rule in found.get("rules", ()) if LEASE.plural in rule["resources"]
    ]
    assert [(found["kind"], found["metadata"]["namespace"]) for found in granting] == [("Role", "lithify")]


def test_bindings_bind_what_there_is() -> None:
    there = {(found["kind"], found["metadata"]["name"]) for found in SECURITY}
    for found in SECURITY:
        if found["kind"] == "RoleBinding":
            assert (found["roleRef"]["kind"], found["roleRef"]["name"]) in there
            assert {("ServiceAccount", subject["name"]) for subject in found["subjects"]} <= there
    assert "ClusterRoleBinding" not in {kind for kind, _ in there}
