"""What the pages say to install with: versions, images that can be built, values that the chart takes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from infrastructure.chart.rendering import CHART, Refused, Rendered, run
from lithify import __version__
from lithify.controller.launching.sizing import driver_cpu_request, executor_cpu_request
from lithify.resources.quantities import quantity_bytes
from lithify.resources.spark_template import SparkTemplate
from support.pages import CURRENT, DOCS, ROOT, STARTED, Page, arguments

pytestmark = pytest.mark.thorough

_LOCAL = "charts/lithify"
_TAKEN = ("--set", "--show-only", "--namespace")
"""What `helm template` takes of the options of `helm install`."""
VALUES = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
RENDERED = tuple(page for page in CURRENT if any(_LOCAL in each for each in page.commands("helm")))
SIZING = Page.read(DOCS / "sizing.md")
INSTALLING = Page.read(DOCS / "installing.md")
OPERATIONS = Page.read(DOCS / "operations.md")
GIB = 1 << 30


def rendered(command: str) -> Rendered:
    """What a `helm` command of a page would install.

    Raises:
        Refused: the chart does not take its values.
    """
    words = arguments(command)
    kept = [word for flag, value in pairwise(words) if flag in _TAKEN for word in (flag, value)]
    return Rendered(run(("template", "lithify", str(CHART), *kept)))


def refused(page: Page) -> Iterator[str]:
    """The `helm` commands of a page that the chart refuses, each with what Helm says."""
    for command in page.commands("helm"):
        if _LOCAL in arguments(command):
            try:
                assert rendered(command).objects
            except Refused as error:
                yield f"{command}: {error}"


def kubernetes() -> str:
    """The oldest Kubernetes that the chart installs on."""
    chart: Mapping[str, Any] = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    return str(chart["kubeVersion"]).removeprefix(">=").removesuffix(".0-0")


@pytest.mark.parametrize("page", RENDERED, ids=lambda page: page.name)
def test_the_chart_takes_what_the_pages_set(page: Page) -> None:
    assert list(refused(page)) == []


def test_a_value_that_the_chart_has_not_is_noticed() -> None:
    text = "```console\n$ helm install lithify charts/lithify --set operator.allowed=1\n```\n"
    assert len(list(refused(Page(Path("x.md"), text)))) == 1


def test_getting_started_installs_for_the_namespace_of_its_tables() -> None:
    (install,) = STARTED.commands("helm")
    (create, *_) = STARTED.commands("kubectl")
    namespace = arguments(create)[-1]
    assert namespace in {role["metadata"]["namespace"] for role in rendered(install).of("RoleBinding")}
    assert {found["metadata"]["namespace"] for found in STARTED.manifests()} == {namespace}


def test_images_are_built_from_files_that_are_there_and_installed_by_their_names() -> None:
    built = set()
    for command in STARTED.commands("docker"):
        words = arguments(command)
        assert (ROOT / words[words.index("-f") + 1]).is_file()
        built.add(words[words.index("-t") + 1])
    (install,) = STARTED.commands("helm")
    values = dict(each.split("=", 1) for each in arguments(install) if "image." in each)
    kinds = ("image", "spark.image")
    assert {f"{values[f'{kind}.repository']}:{values[f'{kind}.tag']}" for kind in kinds} == built
    assert {name.partition(":")[2] for name in built} == {__version__}
    (load,) = [each for each in STARTED.commands("kind") if " load " in each]
    assert built < set(arguments(load))


@pytest.mark.parametrize("page", [STARTED, INSTALLING], ids=lambda page: page.name)
def test_the_oldest_kubernetes_is_the_charts(page: Page) -> None:
    assert f"Kubernetes {kubernetes()} or newer" in page.sentences


def test_what_a_run_reserves_is_what_the_pages_say() -> None:
    spark, operator = SparkTemplate(), VALUES["resources"]["requests"]
    driver = int(driver_cpu_request(spark.driver.cores).removesuffix("m"))
    executor = int(executor_cpu_request(spark.executor.cores).removesuffix("m"))
    own = int(operator["cpu"].removesuffix("m"))
    sizes = [
        quantity_bytes(text) for text in (operator["memory"], spark.driver.memory, spark.executor.memory)
    ]
    cpu, memory = f"{own + driver + executor}m", f"{sum(sizes) / GIB:g}Gi"

    assert f"{cpu} of CPU and {memory} of memory" in STARTED.sentences
    assert SIZING.table("with the defaults") == [
        ["operator", operator["cpu"], operator["memory"]],
        ["driver", f"{driver}m", spark.driver.memory],
        ["executor, each", f"{executor}m", spark.executor.memory],
        ["in all, with one executor", cpu, memory],
    ]


def test_names_of_the_release_are_those_that_helm_makes() -> None:
    (install, *_) = INSTALLING.commands("helm")
    found = rendered(install)
    deployment = found.one("Deployment")
    words = deployment["spec"]["template"]["spec"]["containers"][0]["args"]
    (release,) = [each for each in INSTALLING.commands("lithify") if " release " in each]
    said = arguments(release)
    assert said[said.index("--lease") + 1] in {each.removeprefix("--lease=") for each in words}
    assert said[said.index("--home") + 1] == deployment["metadata"]["namespace"]
    (logs,) = [each for each in OPERATIONS.commands("kubectl") if " logs " in each]
    assert f"deployment/{deployment['metadata']['name']}" in arguments(logs)
