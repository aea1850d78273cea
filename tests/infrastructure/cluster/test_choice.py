"""Tests never touch a cluster that is not known to be for tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from infrastructure.cluster.choice import WrongCluster, chosen

Make = Callable[[str], str]


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Make:
    """Writes a kubeconfig whose current context has a name."""

    def make(context: str) -> str:
        path = tmp_path / "kubeconfig"
        path.write_text(yaml.safe_dump({"current-context": context}))
        return str(path)

    return make


def test_without_settings_there_is_a_cluster_of_our_own() -> None:
    assert chosen({}) is None


@pytest.mark.parametrize("variable", ["LITHIFY_TEST_KUBECONFIG", "KUBECONFIG"])
@pytest.mark.parametrize("context", ["kind-lithify", "lithify-test-cluster", "minikube-lithify-2"])
def test_clusters_for_tests_are_used(variable: str, context: str, kubeconfig: Make) -> None:
    path = kubeconfig(context)
    assert chosen({variable: path}) == Path(path)


def test_another_cluster_that_was_meant_is_an_error(kubeconfig: Make) -> None:
    with pytest.raises(WrongCluster, match="'production'"):
        chosen({"LITHIFY_TEST_KUBECONFIG": kubeconfig("production")})


def test_another_cluster_that_happens_to_be_there_is_left_alone(kubeconfig: Make) -> None:
    assert chosen({"KUBECONFIG": kubeconfig("production")}) is None


def test_patterns_of_ones_own_replace_ours(kubeconfig: Make) -> None:
    settings = {"LITHIFY_TEST_CONTEXTS": "staging-*, scratch"}
    for context in ("scratch", "staging-7"):
        path = kubeconfig(context)
        assert chosen({**settings, "LITHIFY_TEST_KUBECONFIG": path}) == Path(path)
    with pytest.raises(WrongCluster):
        chosen({**settings, "LITHIFY_TEST_KUBECONFIG": kubeconfig("kind-lithify")})


@pytest.mark.parametrize(
    "content",
    [pytest.param(None, id="missing"), pytest.param("{", id="garbage"), pytest.param("[]", id="list")],
)
def test_what_is_no_kubeconfig_is_an_error_if_it_was_meant(content: str | None, tmp_path: Path) -> None:
    path = tmp_path / "kubeconfig"
    if content is not None:
        path.write_text(content)
    with pytest.raises(WrongCluster):
        chosen({"LITHIFY_TEST_KUBECONFIG": str(path)})


@pytest.mark.parametrize("value", ["/nowhere/at/all", "/one:/two", ""])
def test_what_is_no_kubeconfig_is_left_alone_if_it_happens_to_be_there(value: str) -> None:
    assert chosen({"KUBECONFIG": value}) is None
