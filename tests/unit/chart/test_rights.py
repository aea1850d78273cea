"""Who may do what: what the chart grants is what docs/security.md explains, and no more than is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from infrastructure.chart.cases import CASES
from infrastructure.chart.rendering import NAMESPACE, Object, Rendered, render
from lithify.resources.names import DEPLOYMENT, GROUP, LEASE, NETWORK_POLICY, OWN_KINDS, SECRET

pytestmark = pytest.mark.thorough

Render = Callable[[str], Rendered]
Grant = tuple[str, str, str]
ROLES = ("Role", "ClusterRole")
READ = {"get", "list", "watch"}
each_case = pytest.mark.parametrize("case", CASES)
PAGE = Path(__file__).parents[3] / "docs" / "security.md"


def grants(roles: Iterable[Object]) -> set[Grant]:
    """Group, resource and verb of all rules."""
    return {
        (group, resource, verb)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


def explained(*names: str) -> set[Grant]:
    """What the page grants."""
    blocks = PAGE.read_text(encoding="utf-8").split("```yaml\n")[1:]
    found = [one for block in blocks for one in yaml.safe_load_all(block.split("```")[0])]
    roles = [one for one in found if one["kind"] in ROLES and one["metadata"]["name"] in names]
    assert len(roles) == len(names)
    return grants(roles)


def named(rendered: Rendered, *names: str) -> list[Object]:
    return [one for one in rendered.of(*ROLES) if one["metadata"]["name"] in names]


@each_case
def test_nothing_is_granted_wholesale(case: str, rendered: Render) -> None:
    granted = grants(rendered(case).of(*ROLES))
    assert not any("*" in part for grant in granted for part in grant)
    assert {verb for _, resource, verb in granted if resource == SECRET.plural} <= {"get"}
    assert not {verb for _, _, verb in granted} & {"impersonate", "escalate", "bind"}
    groups = {"", GROUP, LEASE.group, DEPLOYMENT.group, NETWORK_POLICY.group}
    assert {group for group, _, _ in granted} <= groups


@pytest.mark.parametrize("case", ["defaults", "namespaces"])
def test_operator_and_drivers_have_what_the_page_explains(case: str, rendered: Render) -> None:
    operator = named(rendered(case), "lithify-operator", "lithify-operator-leases")
    assert grants(operator) == explained(
        "lithify-operator", "lithify-operator-secrets", "lithify-operator-leases"
    )
    assert grants(named(rendered(case), "lithify-driver")) == explained("lithify-driver")


@pytest.mark.parametrize(
    ("rbac", "expected"),
    [
        pytest.param({"secrets": "Any"}, [None], id="any"),
        pytest.param({"secrets": "Named", "secretNames": ["a", "b"]}, [["a", "b"]], id="named"),
        pytest.param({"secrets": "None"}, [], id="none"),
    ],
)
def test_secrets_are_read_by_name(rbac: dict[str, Any], expected: list[Any]) -> None:
    (role,) = named(render({"rbac": rbac}), "lithify-operator")
    found = [rule for rule in role["rules"] if SECRET.plural in rule["resources"]]
    assert [rule.get("resourceNames") for rule in found] == expected


def test_a_list_of_namespaces_needs_nothing_of_the_cluster(rendered: Render) -> None:
    found = rendered("namespaces")
    admission = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    assert not found.of("ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", *admission)
    places = {(one["metadata"]["namespace"], one["metadata"]["name"]) for one in found.of("Role")}
    assert places == {
        (NAMESPACE, "lithify-operator-leases"),
        *((name, f"lithify-{role}") for name in ("lake", "shop") for role in ("operator", "driver")),
    }


@each_case
def test_bindings_bind_what_there_is(case: str, rendered: Render) -> None:
    found = rendered(case)
    roles = {
        (one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]) for one in found.of(*ROLES)
    }
    accounts = {
        (one["metadata"]["namespace"], one["metadata"]["name"]) for one in found.of("ServiceAccount")
    } | {
        (NAMESPACE, name) for name in [CASES[case].get("serviceAccount", {}).get("name")] if name is not None
    }
    for binding in found.of("RoleBinding", "ClusterRoleBinding"):
        role = binding["roleRef"]
        place = binding["metadata"]["namespace"] if role["kind"] == "Role" else None
        assert (role["kind"], place, role["name"]) in roles
        assert {(one["namespace"], one["name"]) for one in binding["subjects"]} <= accounts


EVERYTHING, TABLES = {kind.plural for kind in OWN_KINDS}, {"laketables", "compactions"}


@pytest.mark.parametrize(
    ("writers", "edit", "admin"),
    [
        pytest.param(["admin"], TABLES, EVERYTHING, id="as the chart has it"),
        pytest.param([], TABLES, TABLES, id="nobody by a built-in role"),
        pytest.param(["edit", "admin"], EVERYTHING, EVERYTHING, id="all who edit"),
    ],
)
def test_people_get_our_kinds_by_the_roles_that_they_have(
    writers: list[str], edit: set[str], admin: set[str]
) -> None:
    found = render({"rbac": {"catalogWriters": writers}})
    for name, writable in {"view": set(), "edit": edit, "admin": admin}.items():
        (role,) = named(found, f"lithify-{name}")
        assert role["metadata"]["labels"][f"rbac.authorization.k8s.io/aggregate-to-{name}"] == "true"
        assert {resource for _, resource, verb in grants([role]) if verb in READ} == EVERYTHING
        assert {resource for _, resource, verb in grants([role]) if verb not in READ} == writable


@pytest.mark.parametrize(
    ("role", "writable"), [("lithify-table-owner", TABLES), ("lithify-catalog-owner", EVERYTHING)]
)
def test_owners_write_what_is_theirs(role: str, writable: set[str], rendered: Render) -> None:
    granted = grants(named(rendered("defaults"), role))
    assert {resource for _, resource, verb in granted if verb in READ} == EVERYTHING
    assert {resource for _, resource, verb in granted if verb not in READ} == writable


def test_owners_of_tables_have_what_the_page_explains(rendered: Render) -> None:
    granted = grants(named(rendered("defaults"), "lithify-table-owner"))
    assert granted == explained("lithify-table-owner")


def test_the_hook_may_do_one_thing_more_than_the_operator(rendered: Render) -> None:
    (role,) = named(rendered("defaults"), "lithify-release")
    assert grants([role]) == {(DEPLOYMENT.group, f"{DEPLOYMENT.plural}/scale", "patch")}
    assert grants([role]) == explained("lithify-release")
    assert [rule["resourceNames"] for rule in role["rules"]] == [["lithify-operator"]]
