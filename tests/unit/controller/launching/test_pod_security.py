"""The Pod Security Standards' baseline, control by control: what it forbids is refused, the rest passes.

The table is in `support.pod_security`.
"""

from __future__ import annotations

import pytest

from lithify.controller.launching.isolation import Bounds
from lithify.controller.launching.template import check
from lithify.errors import InvalidOption
from lithify.resources.pod_template.volumes import FORMER
from support.cases import case
from support.pod_security import BASELINE, MORE, Template, pod

FIELD = "spec.spark.executor.podTemplate"
BOUNDS = Bounds("lithify-driver")
OPEN = Bounds("lithify-driver", host_access=True)
FORBIDDEN = [
    case(template, id=f"{control}-{number}")
    for control, forbidden, _ in BASELINE + MORE
    for number, template in enumerate(forbidden)
]
ALLOWED = [
    case(template, id=f"{control}-{number}")
    for control, _, allowed in BASELINE + MORE
    for number, template in enumerate(allowed)
]


@pytest.mark.parametrize("template", FORBIDDEN)
def test_what_reaches_out_of_the_pod_is_refused(template: Template) -> None:
    with pytest.raises(InvalidOption) as caught:
        check(FIELD, template, BOUNDS)
    assert caught.value.option.startswith(f"{FIELD}.")


@pytest.mark.parametrize("template", FORBIDDEN)
def test_an_operator_with_host_access_lets_it_pass(template: Template) -> None:
    check(FIELD, template, OPEN)


@pytest.mark.parametrize("template", ALLOWED)
def test_what_stays_in_the_pod_passes(template: Template) -> None:
    check(FIELD, template, BOUNDS)


@pytest.mark.parametrize("kind", FORMER)
@pytest.mark.parametrize("bounds", [case(BOUNDS, id="guarded"), case(OPEN, id="open")])
def test_volumes_that_kubernetes_no_longer_has_are_refused_by_name(kind: str, bounds: Bounds) -> None:
    with pytest.raises(InvalidOption) as caught:
        check(FIELD, pod(volumes=[{"emptyDir": {}}, {kind: {"anything": 1}}]), bounds)
    assert caught.value.option == f"{FIELD}.spec.volumes[1].{kind}"
