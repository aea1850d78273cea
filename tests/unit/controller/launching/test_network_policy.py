"""The NetworkPolicy of a run lets in the pods of that run, and no others."""

from __future__ import annotations

from typing import Any

import pytest

from lithify.controller.driver import DriverOrder
from lithify.controller.launching.network_policy import belongs_together, network_policy, policy_name
from lithify.controller.launching.pod import PodSettings, driver_pod, executor_template
from lithify.controller.launching.sizing import sizing_of
from lithify.controller.launching.spark_conf import BLOCK_PORT, DRIVER_PORT, cluster_conf
from lithify.resources.spark_template import DriverPod, SparkTemplate
from support.launching.orders import order
from support.reachable import SPECIAL_ADDRESSES, is_reachable

SETTINGS = PodSettings(image="lithify:1")
DNS = {"ports": [{"port": 53, "protocol": "UDP"}]}


def labels_of_executors(ordered: DriverOrder) -> dict[str, str]:
    """Those of the template, and the one by which Spark marks all pods of an application."""
    sizing = sizing_of(ordered.spark, ordered.bytes_per_second)
    app = cluster_conf(ordered, sizing, pod="driver", image="lithify:1")["spark.app.id"]
    return {**executor_template(ordered, sizing)["metadata"]["labels"], "spark-app-selector": app}


def selects(policy: dict[str, Any], labels: dict[str, str]) -> bool:
    """Whether pods with these labels are protected by a policy, which lets in the same ones."""
    selector = policy["spec"]["podSelector"]
    (rule,) = policy["spec"]["ingress"]
    assert rule["from"] == [{"podSelector": selector}]
    assert [port["port"] for port in rule["ports"]] == [DRIVER_PORT, BLOCK_PORT]
    (roles,) = selector["matchExpressions"]
    assert roles["operator"] == "In"
    has_role = labels.get(roles["key"]) in roles["values"]
    return has_role and bool(selector["matchLabels"].items() <= labels.items())


@pytest.mark.parametrize("role", [{}, {"app.kubernetes.io/component": "operator"}])
def test_pods_without_a_role_are_not_let_in(role: dict[str, str]) -> None:
    """The chart reserves labels of drivers and executors; other pods may have Spark's label of the run."""
    driver = driver_pod(order(), SETTINGS)
    labels = dict(driver["metadata"]["labels"])
    del labels["app.kubernetes.io/component"]
    assert not selects(network_policy(driver, None), {**labels, **role})


@pytest.mark.parametrize(
    ("other", "is_let_in"),
    [
        pytest.param(order(), True, id="its own"),
        pytest.param(order(attempt=2), False, id="those of the attempt before"),
        pytest.param(order(uid="77777777-0000"), False, id="those of another run of the name"),
    ],
)
def test_executors_are_let_in_by_their_run(other: DriverOrder, *, is_let_in: bool) -> None:
    driver = driver_pod(order(), SETTINGS)
    policy = network_policy(driver, None)
    assert selects(policy, driver["metadata"]["labels"])
    assert selects(policy, labels_of_executors(other)) is is_let_in
    assert policy["spec"]["policyTypes"] == ["Ingress"]


def test_what_a_run_may_reach_is_said_by_the_operators_flags() -> None:
    spec = network_policy(driver_pod(order(), SETTINGS), [DNS])["spec"]
    assert spec["policyTypes"] == ["Ingress", "Egress"]
    each_other, *rest = spec["egress"]
    assert each_other["to"] == [{"podSelector": spec["podSelector"]}]
    (dns,) = rest
    assert dns["ports"] == DNS["ports"]
    assert not any(is_reachable(rest, address, 53) for address in SPECIAL_ADDRESSES)


def test_it_belongs_to_the_compaction_and_goes_with_it() -> None:
    driver = driver_pod(order(), SETTINGS)
    policy = network_policy(driver, None)
    assert policy["metadata"]["ownerReferences"] == driver["metadata"]["ownerReferences"]
    assert belongs_together(policy, driver)
    assert not belongs_together({"metadata": {}}, driver)
    assert not belongs_together(policy, driver_pod(order(uid="77777777-0000"), SETTINGS))


def test_labels_of_a_template_are_not_taken_over() -> None:
    template = {"metadata": {"labels": {"team": "data"}}}
    spark = SparkTemplate(driver=DriverPod(pod_template=template))
    policy = network_policy(driver_pod(order(spark=spark), SETTINGS), None)
    assert "team" not in policy["metadata"]["labels"]


def test_a_pod_that_does_not_say_its_attempt_has_none() -> None:
    assert policy_name({"metadata": {}}) == ""
