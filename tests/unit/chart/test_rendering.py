"""What Helm makes of the chart: known, valid, restricted, and refused where values make no sense."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from infrastructure.chart.cases import CASES, SNAPSHOTS, snapshot
from infrastructure.chart.judging import ask
from infrastructure.chart.rendering import (
    CHART,
    NAMESPACE,
    RELEASE,
    Object,
    Refused,
    Rendered,
    lint,
    notes,
    render,
)
from infrastructure.chart.schemas import problems
from lithify.cli.operator import operator
from lithify.cli.release import release
from lithify.controller.launching.pod import LABEL_MANAGER, MANAGER
from lithify.resources.crd import CHART_FOLDER, DEFINITIONS
from lithify.resources.spark_template import SparkTemplate
from support.reachable import SPECIAL_ADDRESSES, is_reachable

pytestmark = pytest.mark.thorough


Render = Callable[[str], Rendered]
ADMISSION = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
each_case = pytest.mark.parametrize("case", CASES)


def pods(rendered: Rendered) -> Iterator[Object]:
    """The templates of all pods."""
    for found in rendered.of("Deployment", "Job"):
        yield found["spec"]["template"]


def arguments(rendered: Rendered) -> list[str]:
    (container,) = rendered.one("Deployment")["spec"]["template"]["spec"]["containers"]
    found: list[str] = container["args"]
    return found


def test_helm_finds_no_mistakes() -> None:
    assert "0 chart(s) failed" in lint()


@each_case
def test_snapshots_are_up_to_date(case: str) -> None:
    assert (SNAPSHOTS / f"{case}.yaml").read_text(encoding="utf-8") == snapshot(case), "run `make chart`"


def test_there_is_a_case_for_each_snapshot() -> None:
    assert {path.stem for path in SNAPSHOTS.iterdir()} == set(CASES)


@each_case
def test_objects_are_what_kubernetes_knows(case: str, rendered: Render) -> None:
    wrong: dict[str, list[str]] = {}
    for found in rendered(case).objects:
        if found["apiVersion"].startswith("monitoring.coreos.com/") or found["kind"].startswith(
            "CustomResource"
        ):
            continue  # asked of the operator's own types below; our CRDs have tests of their own
        if said := problems(found):
            wrong[f"{found['kind']} {found['metadata']['name']}"] = said
    assert wrong == {}


def test_schemas_notice_what_nobody_knows() -> None:
    found = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a", "nam": "b"}}
    assert problems(found)
    assert problems({**found, "metadata": {"name": "a"}, "automountServiceAccountToken": "yes"})
    assert not problems({**found, "metadata": {"name": "a"}})


def test_objects_are_what_the_prometheus_operator_knows(rendered: Render) -> None:
    found = rendered("everything").of("ServiceMonitor", "PrometheusRule")
    assert {one["kind"] for one in found} == {"ServiceMonitor", "PrometheusRule"}
    assert [answer.get("problem", "") for answer in ask([{"object": one} for one in found])] == ["", ""]
    monitor = {**found[0], "spec": {**found[0]["spec"], "endpoint": []}}
    assert ask([{"object": monitor}])[0]["problem"]


@each_case
def test_every_namespaced_object_says_its_namespace(case: str, rendered: Render) -> None:
    """Or `helm template | kubectl apply` would put it somewhere else."""
    of_the_cluster = {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", *ADMISSION}
    homeless = [
        found["metadata"]["name"]
        for found in rendered(case).objects
        if found["kind"] not in of_the_cluster and "namespace" not in found["metadata"]
    ]
    assert homeless == [
        one["metadata"]["name"].replace("{{ .Release.Name }}", RELEASE) for one in extra(case)
    ]


def extra(case: str) -> list[Object]:
    """Objects of the user's own, which are as they are."""
    return list(CASES[case].get("extraObjects", []))


@each_case
def test_names_can_be_told_apart(case: str, rendered: Render) -> None:
    names = [
        (one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"])
        for one in rendered(case).objects
    ]
    assert len(names) == len(set(names))


@each_case
def test_pods_are_restricted(case: str, rendered: Render) -> None:
    """As the Pod Security Standards' restricted level asks for, and with a root file system to read only."""
    for template in pods(rendered(case)):
        spec = template["spec"]
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["seccompProfile"]["type"] == "RuntimeDefault"
        assert not {"hostNetwork", "hostPID", "hostIPC"} & spec.keys()
        allowed = {"configMap", "emptyDir", "projected", "secret", "persistentVolumeClaim"}
        assert all(volume.keys() - {"name"} <= allowed for volume in spec["volumes"])
        for container in spec["containers"]:
            context = container["securityContext"]
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert context["readOnlyRootFilesystem"] is True
            assert not any("hostPort" in port for port in container.get("ports", ()))
            assert {"requests", "limits"} <= container["resources"].keys()
            assert {"name": "tmp", "mountPath": "/tmp"} in container["volumeMounts"]


@pytest.mark.parametrize(("case", "ids"), [("defaults", {185}), ("openshift", set())])
def test_platforms_may_choose_user_and_group(case: str, ids: set[int], rendered: Render) -> None:
    for template in pods(rendered(case)):
        context = template["spec"]["securityContext"]
        assert {context[name] for name in ("runAsUser", "runAsGroup", "fsGroup") if name in context} == ids


@each_case
def test_arguments_are_what_the_commands_take(case: str, rendered: Render) -> None:
    for template in pods(rendered(case)):
        name, *given = template["spec"]["containers"][0]["args"]
        command = {"operator": operator, "release": release}[name]
        command.make_context(name, list(given))


def test_arguments_follow_the_values(rendered: Render) -> None:
    plain, narrow, everything = (
        arguments(rendered(case)) for case in ("defaults", "namespaces", "everything")
    )
    assert f"--home={NAMESPACE}" in plain
    optional = ("--namespace", "--max-runs", "--table-metrics", "--allow")
    assert not [one for one in plain if one.startswith(optional)]
    assert [one for one in narrow if one.startswith("--namespace")] == [
        "--namespace=lake",
        "--namespace=shop",
    ]
    assert {"--max-runs=10", "--max-runs-per-namespace=3", "--identity=one"} <= {*everything}
    assert {"--table-metrics", "--allow-host-access"} <= {*everything}
    assert "--image=registry.example/spark:1.2.3" in everything


def test_the_hook_releases_what_the_operator_looks_after(rendered: Render) -> None:
    for case in ("defaults", "everything", "openshift"):
        own = {
            one for one in arguments(rendered(case)) if one.startswith(("--home", "--lease=", "--namespace"))
        }
        hook = rendered(case).one("Job")["spec"]["template"]["spec"]["containers"][0]["args"]
        deployment = rendered(case).one("Deployment")["metadata"]["name"]
        assert {*own, f"--stop-deployment={deployment}"} <= {*hook}


def test_images_are_known_by_digest_tag_or_release(rendered: Render) -> None:
    def image(case: str) -> str:
        return str(rendered(case).one("Deployment")["spec"]["template"]["spec"]["containers"][0]["image"])

    version = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))["appVersion"]
    assert image("defaults") == f"ghcr.io/lithify/operator:{version}"
    assert image("everything") == "ghcr.io/lithify/operator@sha256:" + "a" * 64


def test_definitions_are_those_of_the_models(rendered: Render) -> None:
    """Helm changes nothing in them but labels and annotations."""
    found = {one["metadata"]["name"]: one for one in rendered("defaults").of("CustomResourceDefinition")}
    assert len(found) == len(DEFINITIONS)
    for path in CHART_FOLDER.glob("*.yaml"):
        meant = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        assert found[meant["metadata"]["name"]]["spec"] == meant["spec"]


@pytest.mark.parametrize(("case", "policy"), [("defaults", "keep"), ("everything", None)])
def test_definitions_are_kept_unless_told_otherwise(case: str, policy: str | None, rendered: Render) -> None:
    for one in rendered(case).of("CustomResourceDefinition"):
        assert one["metadata"].get("annotations", {}).get("helm.sh/resource-policy") == policy


def test_drivers_have_the_account_that_policies_name(rendered: Render) -> None:
    accounts = [
        (one["metadata"]["namespace"], one["metadata"]["name"])
        for one in rendered("namespaces").of("ServiceAccount")
        if one["metadata"]["labels"].get("app.kubernetes.io/component") == "driver"
    ]
    assert accounts == [(name, SparkTemplate().service_account_name) for name in ("lake", "shop")]


@pytest.mark.parametrize("case", ["defaults", "namespaces", "everything", "bare"])
def test_runs_are_isolated_wherever_they_are(case: str, rendered: Render) -> None:
    """By the operator and the hook alike: what one makes, the other deletes in the end."""
    is_wanted = CASES[case].get("networkPolicy", {}).get("enabled", True)
    for template in pods(rendered(case)):
        assert ("--isolate-runs" in template["spec"]["containers"][0]["args"]) is is_wanted


def test_runs_may_reach_what_the_values_say(rendered: Render) -> None:
    (given,) = (one for one in arguments(rendered("everything")) if one.startswith("--run-egress="))
    rules = json.loads(given.partition("=")[2])
    own = rendered("everything").one("NetworkPolicy", "compaction-operator")["spec"]["egress"]
    assert rules == own
    assert {"to": [{"ipBlock": {"cidr": "10.20.0.0/16"}}], "ports": [{"port": 9000}]} in rules
    assert not [one for one in arguments(rendered("defaults")) if one.startswith("--run-egress")]


IDENTITY = {"operator": {"ownIdentity": [{"namespace": "lake", "warehouse": "s3://lake/"}]}}


@pytest.mark.parametrize(
    ("values", "is_open"),
    [
        pytest.param({}, False, id="nobody needs it"),
        pytest.param(IDENTITY, True, id="the operator has an identity to use"),
        pytest.param(
            {**IDENTITY, "networkPolicy": {"egress": {"metadataService": False}}}, False, id="not even then"
        ),
        pytest.param({"networkPolicy": {"egress": {"metadataService": True}}}, True, id="whoever asks"),
    ],
)
def test_the_metadata_service_is_out_of_reach_unless_needed(values: dict[str, Any], *, is_open: bool) -> None:
    policy = render(values).one("NetworkPolicy", "lithify-operator")["spec"]
    assert ("Egress" not in policy["policyTypes"]) is is_open
    rules = policy.get("egress", [{}])
    assert {is_reachable(rules, one, 80) for one in SPECIAL_ADDRESSES} == {is_open}
    assert is_reachable(rules, "93.184.216.34", 443)


WIDE_RULES = [
    {"ports": [{"port": 443}]},
    {"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}}, {"ipBlock": {"cidr": "::/0"}}]},
]


@pytest.mark.parametrize("port", [53, 443, 6443, 9000])
@pytest.mark.parametrize("given", [{}, {"enabled": True}, {"enabled": True, "to": WIDE_RULES}])
def test_no_rule_of_egress_opens_special_addresses(given: dict[str, Any], port: int) -> None:
    rendered = render({"networkPolicy": {"egress": given}})
    rules = rendered.one("NetworkPolicy", "lithify-operator")["spec"]["egress"]
    assert [address for address in SPECIAL_ADDRESSES if is_reachable(rules, address, port)] == []
    assert is_reachable(rules, "93.184.216.34", port) is (port != 9000 or given != {"enabled": True})
    assert is_reachable(rules, "169.254.20.10", port) is (port == 53)
    assert is_reachable(rules, "10.1.2.3", 9000) is (given == {})


def test_labels_are_reserved_where_tables_are(rendered: Render) -> None:
    _, binding = render({"watchNamespaces": ["lake", "shop"]}).of(*ADMISSION)
    (place,) = binding["spec"]["matchResources"]["namespaceSelector"]["matchExpressions"]
    assert place["values"] == ["lake", "shop"]
    policy, everywhere = rendered("defaults").of(*ADMISSION)
    assert "matchResources" not in everywhere["spec"]
    selector = policy["spec"]["matchConstraints"]["objectSelector"]
    assert selector == {"matchLabels": {LABEL_MANAGER: MANAGER}}


@each_case
def test_there_is_one_port_and_no_webhook(case: str, rendered: Render) -> None:
    found = rendered(case)
    containers = [one for template in pods(found) for one in template["spec"]["containers"]]
    ports = [port["name"] for one in containers for port in one.get("ports", [])]
    assert ports == ["http"]
    assert found.of("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration") == []


@each_case
def test_selectors_select_the_operators_pods_alone(case: str, rendered: Render) -> None:
    found = rendered(case)
    template, job = found.one("Deployment")["spec"]["template"], found.of("Job")
    wanted = found.one("Deployment")["spec"]["selector"]["matchLabels"]
    selectors = [one["spec"]["selector"]["matchLabels"] for one in found.of("PodDisruptionBudget")]
    selectors += [one["spec"]["selector"] for one in found.of("Service")]
    selectors += [
        one["labelSelector"]["matchLabels"] for one in template["spec"].get("topologySpreadConstraints", [])
    ]
    assert all(selector == wanted for selector in selectors)
    assert wanted.items() <= template["metadata"]["labels"].items()
    assert not any(wanted.items() <= one["spec"]["template"]["metadata"]["labels"].items() for one in job)


def shown() -> dict[str, dict[str, Any]]:
    """Values that the pages show, by page and place."""
    fence = "```yaml values\n"
    return {
        f"{page.name} {number}": yaml.safe_load(block.split("```")[0])
        for page in sorted((CHART.parents[1] / "docs").glob("*.md"))
        for number, block in enumerate(page.read_text(encoding="utf-8").split(fence)[1:], 1)
    }


@pytest.mark.parametrize("values", shown().values(), ids=shown())
def test_values_that_the_pages_show_are_accepted(values: dict[str, Any]) -> None:
    assert render(values).objects


@pytest.mark.parametrize("case", ["defaults", "openshift"])
def test_the_network_policy_is_for_the_hook_as_well(case: str, rendered: Render) -> None:
    """Or a namespace that lets nothing out would not let go of the release."""
    found = rendered(case)
    wanted = found.one("NetworkPolicy", "lithify-operator")["spec"]["podSelector"]["matchLabels"]
    labels = [template["metadata"]["labels"] for template in pods(found)]
    assert len(labels) == 2
    assert all(wanted.items() <= one.items() for one in labels)


REFUSED: dict[str, dict[str, Any]] = {
    "a value that nobody knows": {"replicas": 3},
    "a role that is not built in": {"rbac": {"catalogWriters": ["view"]}},
    "an identity for no namespace": {"operator": {"ownIdentity": [{"warehouse": "s3://lake/"}]}},
    "a nested one": {"image": {"repo": "a"}},
    "a tag with a blank": {"image": {"tag": "a b"}},
    "a digest that is none": {"image": {"digest": "sha256:abc"}},
    "a pull policy in small letters": {"image": {"pullPolicy": "always"}},
    "a namespace in capitals": {"watchNamespaces": ["Lake"]},
    "a namespace twice": {"watchNamespaces": ["lake", "lake"]},
    "namespaces that are no list": {"watchNamespaces": "lake"},
    "a lease that is too short": {"operator": {"leaseSeconds": 1}},
    "no place to look": {"operator": {"looks": 0}},
    "a log format": {"operator": {"logFormat": "xml"}},
    "named secrets without names": {"rbac": {"secrets": "Named"}},
    "names of secrets that are not heeded": {"rbac": {"secretNames": ["a"]}},
    "a service account of no name": {"serviceAccount": {"create": False}},
    "amounts that are none": {"resources": {"limits": {"memory": "1 GB"}}},
    "a duration without unit": {"metrics": {"serviceMonitor": {"interval": "30"}}},
    "a runbook that is no address": {"metrics": {"prometheusRule": {"runbookUrl": "docs"}}},
    "a monitor of no service": {
        "metrics": {"service": {"enabled": False}, "serviceMonitor": {"enabled": True}}
    },
    "a port": {"metrics": {"service": {"port": 70000}}},
    "a probe's field": {"probes": {"liveness": {"period": 3}}},
    "grace that is too short": {"release": {"graceSeconds": 1}},
    "a name with a dot": {"nameOverride": "a.b"},
    "an object of no kind": {"extraObjects": [{"metadata": {"name": "a"}}]},
}


@pytest.mark.parametrize("values", REFUSED.values(), ids=REFUSED)
def test_values_that_make_no_sense_are_refused(values: dict[str, Any]) -> None:
    with pytest.raises(Refused):
        render(values)


def test_every_value_is_in_the_schema_and_explained() -> None:
    """What values.yaml has at the top, a comment explains: its own, or that of the block it stands in."""
    lines = (CHART / "values.yaml").read_text(encoding="utf-8").splitlines()
    silent = []
    for number, line in enumerate(lines):
        is_value = line.strip() and not line.lstrip().startswith(("#", "-"))
        if is_value and not line.startswith(" "):
            before = [lines[number - 1]] if number else []
            inside = lines[number + 1] if number + 1 < len(lines) else ""
            if not any(one.lstrip().startswith("#") for one in (*before, inside)):
                silent.append(line)
    plain = {"resources:", "podSecurityContext:", "securityContext:", "podAnnotations: {}", "podLabels: {}"}
    plain |= {"nodeSelector: {}", "tolerations: []", "affinity: {}", 'priorityClassName: ""'}
    plain |= {"terminationGracePeriodSeconds: 30", "envFrom: []", "extraVolumeMounts: []"}
    plain |= {"podDisruptionBudget:", "serviceAccount:"}
    assert set(silent) <= plain


@pytest.mark.parametrize(
    ("case", "said"),
    [
        pytest.param("defaults", ["create serviceaccount lithify-driver", "all namespaces"], id="defaults"),
        pytest.param(
            "namespaces", ["--namespace lake apply", "kubectl apply --server-side"], id="namespaces"
        ),
        pytest.param("everything", ["crds.keep is false"], id="everything"),
    ],
)
def test_notes_say_the_next_command(case: str, said: list[str]) -> None:
    text = notes(CASES[case])
    assert [one for one in said if one not in text] == []
    assert "get lakehouse" in text
