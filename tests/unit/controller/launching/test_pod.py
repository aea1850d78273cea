"""The driver's pod: whose it is, what it may do, what it is told, and what a template adds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lithify.contract.order import read_instructions
from lithify.controller.deciding.names import label_value
from lithify.controller.driver import DriverOrder
from lithify.controller.launching.pod import (
    PodSettings,
    driver_pod,
    executors_of,
    pod_key,
)
from lithify.controller.launching.template import RESTRICTED
from lithify.errors import InvalidOption
from lithify.resources.catalog import CatalogSpec, SecretReference
from lithify.resources.names import FINALIZER_DRIVER, LABEL_TABLE, ObjectKey
from lithify.resources.objects import Reference
from lithify.resources.spark_template import (
    DriverPod,
    ExecutorPods,
    KueueTemplate,
    PullPolicy,
    QueueAdmission,
    SparkTemplate,
)
from support.cases import case
from support.launching.orders import KEY, ORDER, order

SETTINGS = PodSettings(image="lithify:1")
NAMES = st.from_regex(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?", fullmatch=True)


def pod_of(template: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    spark = SparkTemplate(driver=DriverPod(pod_template=template))
    return driver_pod(order(**{"spark": spark, **changes}), SETTINGS)


def container_of(pod: dict[str, Any]) -> dict[str, Any]:
    (found,) = (one for one in pod["spec"]["containers"] if one["name"] == "lithify")
    return dict(found)


def variables(pod: dict[str, Any]) -> dict[str, Any]:
    return {one["name"]: one.get("value", one.get("valueFrom")) for one in container_of(pod)["env"]}


def executors(ordered: DriverOrder) -> dict[str, Any]:
    """The template of executors that a driver is told."""
    told = read_instructions(variables(driver_pod(ordered, SETTINGS))["LITHIFY_ORDER"])
    assert told.executor_template is not None
    return dict(told.executor_template)


def with_template(template: Any) -> DriverOrder:
    return order(spark=SparkTemplate(driver=DriverPod(pod_template=template)))


class TestPlain:
    def test_belongs_to_its_compaction_and_stays_until_it_is_let_go(self) -> None:
        metadata = pod_of()["metadata"]
        assert (metadata["name"], metadata["namespace"]) == ("orders-1-x7k2p-lithify", "shop")
        assert metadata["finalizers"] == [FINALIZER_DRIVER]
        assert metadata["ownerReferences"] == [
            {
                "apiVersion": "lithify.dev/v1alpha1",
                "kind": "Compaction",
                "name": KEY.name,
                "uid": ORDER.uid,
                "controller": True,
                "blockOwnerDeletion": False,
            }
        ]
        assert metadata["labels"] == {
            "app.kubernetes.io/managed-by": "lithify",
            "app.kubernetes.io/component": "driver",
            "lithify.dev/compaction": KEY.name,
            "lithify.dev/attempt": "1",
            "lithify.dev/table": "orders",
            "spark-app-selector": "c-orders-1-x7k2p-0b5f6c-1",
            "spark-role": "driver",
        }
        assert "annotations" not in metadata

    def test_may_do_little_and_never_starts_again(self) -> None:
        pod = pod_of()
        spec, container = pod["spec"], container_of(pod)
        assert spec["restartPolicy"] == "Never"
        assert spec["enableServiceLinks"] is False
        assert spec["serviceAccountName"] == "lithify-driver"
        assert spec["terminationGracePeriodSeconds"] == SETTINGS.grace_seconds
        assert container["securityContext"] == RESTRICTED
        assert container["terminationMessagePolicy"] == "File"
        assert container["resources"]["requests"] == {"cpu": "250m", "memory": "1024Mi"}
        assert container["resources"]["limits"] == {"cpu": "1", "memory": "1024Mi"}
        assert (container["image"], container["command"], container["args"]) == (
            "lithify:1",
            ["/usr/bin/tini", "--", "lithify", "drive"],
            [],
        )

    @pytest.mark.parametrize(
        ("size", "volume"),
        [case(None, {}, id="what there is"), case("5Gi", {"sizeLimit": "5120Mi"}, id="so much")],
    )
    def test_writes_to_nothing_but_a_volume_of_its_own(self, size: str | None, volume: object) -> None:
        spark = SparkTemplate(driver=DriverPod(scratch_size=size), executor=ExecutorPods(scratch_size=size))
        ordered = order(spark=spark)
        for pod in (driver_pod(ordered, SETTINGS), executors(ordered)):
            container = pod["spec"]["containers"][0]
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["volumeMounts"] == [{"name": "spark-local-dir-1", "mountPath": "/tmp"}]
            assert pod["spec"]["volumes"] == [{"name": "spark-local-dir-1", "emptyDir": volume}]
            assert pod["spec"]["securityContext"] == {
                "runAsNonRoot": True,
                "seccompProfile": {"type": "RuntimeDefault"},
                "runAsUser": 185,
                "runAsGroup": 185,
                "fsGroup": 185,
                "fsGroupChangePolicy": "OnRootMismatch",
            }

    def test_is_told_its_order_and_where_it_is(self) -> None:
        found = variables(pod_of(partitions=({"dt": "$(HOME) $(x"},), time_zone="Europe/Berlin"))
        assert "$" not in found["LITHIFY_ORDER"]
        told = read_instructions(found["LITHIFY_ORDER"])
        assert (told.run, told.selection.partitions, told.table.time_zone) == (
            ORDER.uid,
            ({"dt": "$(HOME) $(x"},),
            "Europe/Berlin",
        )
        assert told.master == "k8s://https://kubernetes.default.svc"
        assert told.conf["spark.kubernetes.driver.pod.name"] == "orders-1-x7k2p-lithify"
        assert told.executor_template is not None
        assert found["LITHIFY_POD_IP"] == {"fieldRef": {"fieldPath": "status.podIP"}}

    def test_has_credentials_mounted_and_nowhere_in_it(self) -> None:
        secret = SecretReference(name="keys", options={"a/b": "k", "s3.secret-key": "k", "token": "t"})
        pod = driver_pod(order(catalog=CatalogSpec(warehouse="w", secret_ref=secret)), SETTINGS)
        _, volume = pod["spec"]["volumes"]
        _, mount = container_of(pod)["volumeMounts"]
        assert volume["secret"] == {
            "secretName": "keys",
            "optional": True,
            "defaultMode": 0o444,
            "items": [{"key": "k", "path": "k"}, {"key": "t", "path": "t"}],
        }
        assert (mount["name"], mount["readOnly"]) == (volume["name"], True)
        assert mount["mountPath"] == variables(pod)["LITHIFY_SECRETS"]
        told = read_instructions(variables(pod)["LITHIFY_ORDER"])
        assert told.credential_files == secret.options
        assert "keys" not in json.dumps(told.executor_template)

    def test_has_more_memory_after_it_ran_out_of_it(self) -> None:
        limits = container_of(pod_of(memory_factor=1.5))["resources"]["limits"]
        assert limits["memory"] == "1536Mi"

    def test_has_the_policys_image(self) -> None:
        spark = SparkTemplate(
            image="mine:2", image_pull_policy=PullPolicy.ALWAYS, image_pull_secrets=(Reference(name="pull"),)
        )
        pod = driver_pod(order(spark=spark), SETTINGS)
        assert (container_of(pod)["image"], container_of(pod)["imagePullPolicy"]) == ("mine:2", "Always")
        assert pod["spec"]["imagePullSecrets"] == [{"name": "pull"}]

    def test_without_any_image_is_refused(self) -> None:
        with pytest.raises(InvalidOption) as caught:
            driver_pod(order(spark=SparkTemplate()), PodSettings())
        assert caught.value.option == "spec.spark.image"

    def test_order_that_is_too_long_is_refused(self) -> None:
        partitions = tuple({"dt": f"{number:0200}"} for number in range(700))
        with pytest.raises(InvalidOption) as caught:
            pod_of(partitions=partitions)
        assert caught.value.option == "spec.partitions"


class TestTemplate:
    def test_adds_what_is_not_ours(self) -> None:
        template = {
            "metadata": {"labels": {"team": "data"}, "annotations": {"note": "x"}},
            "spec": {
                "tolerations": [{"key": "spot", "operator": "Exists"}],
                "affinity": {"nodeAffinity": {}},
                "priorityClassName": "low",
                "terminationGracePeriodSeconds": 300,
                "securityContext": {"fsGroup": 1, "runAsUser": 1000650000},
                "volumes": [{"name": "cache", "emptyDir": {}}],
                "initContainers": [{"name": "first", "image": "first"}],
                "imagePullSecrets": [{"name": "theirs"}],
                "topologySpreadConstraints": [{"maxSkew": 1}],
                "schedulerName": "volcano",
                "hostAliases": [{"ip": "10.0.0.1"}],
                "dnsConfig": {"options": [{"name": "ndots", "value": "2"}]},
                "runtimeClassName": "gvisor",
                "nodeSelector": {"disk": "fast"},
                "containers": [
                    {"name": "sidecar", "image": "proxy"},
                    {
                        "name": "lithify",
                        "env": [
                            {"name": "AWS_REGION", "value": "eu-1"},
                            {"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                        ],
                        "envFrom": [{"secretRef": {"name": "more"}}],
                        "volumeMounts": [{"name": "cache", "mountPath": "/cache"}],
                        "resources": {"limits": {"ephemeral-storage": "9Gi"}},
                    },
                ],
            },
        }
        pod = pod_of(template)
        spec, container = pod["spec"], container_of(pod)
        assert pod["metadata"]["labels"]["team"] == "data"
        assert pod["metadata"]["labels"]["lithify.dev/table"] == "orders"
        assert pod["metadata"]["annotations"] == {"note": "x"}
        assert pod["metadata"]["name"] == "orders-1-x7k2p-lithify"
        for name in template["spec"].keys() - {"securityContext", "volumes", "containers"}:  # type: ignore[attr-defined]
            assert spec[name] == template["spec"][name]  # type: ignore[index]
        assert spec["securityContext"] == {
            "runAsUser": 1000650000,
            "runAsGroup": 185,
            "fsGroup": 1,
            "fsGroupChangePolicy": "OnRootMismatch",
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        assert spec["volumes"] == [
            {"name": "spark-local-dir-1", "emptyDir": {}},
            {"name": "cache", "emptyDir": {}},
        ]
        assert [one["name"] for one in spec["containers"]] == ["lithify", "sidecar"]
        assert variables(pod)["AWS_REGION"] == "eu-1"
        assert variables(pod)["KEY"] == {"secretKeyRef": {"name": "s", "key": "k"}}
        assert container["envFrom"] == [{"secretRef": {"name": "more"}}]
        assert container["volumeMounts"] == [
            {"name": "spark-local-dir-1", "mountPath": "/tmp"},
            {"name": "cache", "mountPath": "/cache"},
        ]
        assert container["resources"]["limits"]["ephemeral-storage"] == "9Gi"
        assert container["resources"]["limits"]["memory"] == "1024Mi"

    def test_may_say_where_temporary_files_are(self) -> None:
        claim = {"ephemeral": {"volumeClaimTemplate": {"spec": {"storageClassName": "fast"}}}}
        template = {"spec": {"volumes": [{"name": "spark-local-dir-1", **claim}]}}
        ordered = order(
            spark=SparkTemplate(
                driver=DriverPod(pod_template=template), executor=ExecutorPods(pod_template=template)
            )
        )
        for pod in (driver_pod(ordered, SETTINGS), executors(ordered)):
            assert pod["spec"]["volumes"] == [{"name": "spark-local-dir-1", **claim}]
            assert pod["spec"]["containers"][0]["volumeMounts"][0]["mountPath"] == "/tmp"

    def test_cannot_give_the_driver_another_order(self) -> None:
        forged = {"env": [{"name": "LITHIFY_ORDER", "value": "{}"}]}
        pod = pod_of({"spec": {"containers": [forged]}})
        assert read_instructions(variables(pod)["LITHIFY_ORDER"]).run == ORDER.uid
        assert len(container_of(pod)["env"]) == 5

    @pytest.mark.parametrize(
        ("policy", "image"),
        [case(None, "lithify:1", id="the operator's"), case("mine:2", "mine:2", id="the policy's")],
    )
    def test_driver_and_executors_have_the_image_of_the_policy(self, policy: str | None, image: str) -> None:
        pod = driver_pod(order(spark=SparkTemplate(image=policy)), SETTINGS)
        told = read_instructions(variables(pod)["LITHIFY_ORDER"])
        assert container_of(pod)["image"] == told.conf["spark.kubernetes.container.image"] == image

    @pytest.mark.parametrize(
        "template",
        [
            pytest.param({"spec": []}, id="spec"),
            pytest.param({"metadata": "x"}, id="metadata"),
            pytest.param({"metadata": {"labels": ["x"]}}, id="labels"),
            pytest.param({"spec": {"containers": {"name": "x"}}}, id="containers"),
            pytest.param({"spec": {"containers": ["x"]}}, id="container"),
            pytest.param({"spec": {"containers": [{"env": {"A": "b"}}]}}, id="environment"),
            pytest.param({"spec": {"containers": [{"resources": 3}]}}, id="resources"),
        ],
    )
    def test_of_another_shape_is_refused(self, template: dict[str, Any]) -> None:
        with pytest.raises(InvalidOption):
            driver_pod(with_template(template), SETTINGS)

    def test_template_of_executors_keeps_what_policies_set(self) -> None:
        mine = {
            "metadata": {"annotations": {"note": "x"}},
            "spec": {
                "tolerations": [{"key": "spot"}],
                "containers": [{"name": "x", "env": [{"name": "A"}]}, {"name": "sidecar"}],
            },
        }
        template = executors(order(spark=SparkTemplate(executor=ExecutorPods(pod_template=mine))))
        container, sidecar = template["spec"]["containers"]
        assert (container["name"], sidecar) == ("spark-kubernetes-executor", {"name": "sidecar"})
        assert (container["env"], container["securityContext"]) == ([{"name": "A"}], RESTRICTED)
        assert template["spec"]["tolerations"] == [{"key": "spot"}]
        assert template["metadata"]["annotations"] == {"note": "x"}
        assert template["metadata"]["labels"]["app.kubernetes.io/component"] == "executor"
        # The operator hears of all pods that have it.
        assert "lithify.dev/compaction" not in template["metadata"]["labels"]

    @pytest.mark.parametrize("token", [None, True])
    def test_of_executors_has_the_drivers_account_but_no_token_for_the_api(self, token: bool | None) -> None:
        mine = {} if token is None else {"spec": {"automountServiceAccountToken": token}}
        spark = SparkTemplate(service_account_name="s3", executor=ExecutorPods(pod_template=mine))
        spec = executors(order(spark=spark))["spec"]
        assert (spec["serviceAccountName"], spec["automountServiceAccountToken"]) == ("s3", bool(token))

    @settings(deadline=None)
    @given(
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.text(max_size=3),
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.dictionaries(
                    st.sampled_from(["spec", "metadata", "containers", "env", "name", "labels", "volumes"]),
                    inner,
                    max_size=4,
                )
            ),
            max_leaves=12,
        ).filter(lambda value: isinstance(value, dict))
    )
    def test_of_any_shape_is_used_or_refused(self, template: dict[str, Any]) -> None:
        try:
            pod = driver_pod(with_template(template), SETTINGS)
        except InvalidOption:
            return
        json.dumps(pod)
        assert pod["metadata"]["name"] == "orders-1-x7k2p-lithify"
        assert container_of(pod)["securityContext"] == RESTRICTED


GIB = 1 << 30


class TestKueue:
    """What Kueue's plain-pod integration looks at."""

    def test_group_counts_driver_and_executors_and_ends_with_the_driver(self) -> None:
        spark = SparkTemplate(
            kueue=KueueTemplate(queue_name="lake"),
            target_run_seconds=64,
            executor=ExecutorPods(max_instances=9, cores=2, memory="3Gi"),
        )
        ordered = order(spark=spark, planned_bytes=5 * GIB)
        pod, template = driver_pod(ordered, SETTINGS), executors(ordered)
        told = read_instructions(variables(pod)["LITHIFY_ORDER"])
        assert told.conf["spark.executor.instances"] == "3"
        assert told.sizing is not None
        assert told.sizing.most == 3
        group = "c-orders-1-x7k2p-0b5f6c-1"
        for metadata in (pod["metadata"], template["metadata"]):
            assert metadata["labels"]["kueue.x-k8s.io/queue-name"] == "lake"
            assert metadata["labels"]["kueue.x-k8s.io/pod-group-name"] == group
            assert metadata["annotations"].items() >= {
                ("kueue.x-k8s.io/pod-group-total-count", "4"),
                ("kueue.x-k8s.io/pod-group-fast-admission", "true"),
                ("kueue.x-k8s.io/role-hash", "lithify"),
            }
        assert pod["metadata"]["annotations"]["kueue.x-k8s.io/retriable-in-group"] == "false"
        # Else Kueue lets executors pass, because it manages their owner.
        assert template["metadata"]["labels"]["kueue.x-k8s.io/managed"] == "true"
        assert template["metadata"]["annotations"]["kueue.x-k8s.io/pod-suspending-parent"]
        # All pods of the group count like the driver.
        assert container_of(pod)["resources"]["requests"] == {"cpu": "2", "memory": "3072Mi"}

    def test_queues_can_admit_the_driver_alone(self) -> None:
        kueue = KueueTemplate(queue_name="lake", admission=QueueAdmission.DRIVER)
        ordered = order(spark=SparkTemplate(kueue=kueue))
        pod, template = driver_pod(ordered, SETTINGS), executors(ordered)
        assert pod["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] == "lake"
        assert "kueue" not in json.dumps([pod["metadata"].get("annotations"), template])


class TestNames:
    @settings(deadline=None)
    @given(name=NAMES)
    def test_long_names_become_valid_names_and_labels(self, name: str) -> None:
        key = pod_key(ObjectKey("shop", name))
        assert len(key.name) <= 253
        assert len(label_value(name)) <= 63
        assert key.name[0].isalnum()
        assert label_value(name)[-1].isalnum()

    def test_of_a_long_table_is_the_label_that_its_compactions_have(self) -> None:
        found = driver_pod(order(spark=SparkTemplate(image="i"), lake_table="y" * 200), SETTINGS)
        assert found["metadata"]["labels"][LABEL_TABLE] == label_value("y" * 200)

    def test_of_different_compactions_differ_however_long_they_are(self) -> None:
        names = ["x" * 253, "x" * 252 + "y", "x" * 245, "x" * 246, "x", "x-lithify"]
        assert len({pod_key(ObjectKey("shop", name)).name for name in names}) == len(names)

    def test_executors_are_found_by_the_driver(self) -> None:
        pod = pod_of()
        told = read_instructions(variables(pod)["LITHIFY_ORDER"])
        assert executors_of(pod) == f"spark-app-selector={told.conf['spark.app.id']},spark-role=executor"
        assert executors_of({"metadata": {}}) == ""
