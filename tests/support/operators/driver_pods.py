"""Namespaces in which an operator makes drivers' pods. There is no node: `kubelet` reports what one would."""

from __future__ import annotations

import secrets
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from infrastructure.cluster.fixtures import Cluster
from support.operators.kubelet import Kubelet, node
from support.operators.server import PODS, Story
from support.operators.stage import Stage, stage_in

IMAGE = "lithify:test"
LAUNCHER = ("--launcher", "kubernetes", "--image", IMAGE)
"""Options of an operator that makes pods."""


@dataclass(frozen=True, slots=True)
class Podding:
    """A namespace whose operator makes pods, the story of these, and a node for them."""

    stage: Stage
    story: Story
    node: str

    def kubelet(self, name: str) -> Kubelet:
        """The kubelet of the pod of a run."""
        return Kubelet(self.stage, self.story, name, self.node)


def namespace_of_drivers(stack: ExitStack, cluster: Cluster, word: str) -> str:
    """A new namespace with the service account of drivers; the stack's end deletes it."""
    name = f"{word}-{secrets.token_hex(4)}"
    stack.callback(cluster.kubectl, "delete", "namespace", name, "--wait=false")
    cluster.kubectl("create", "namespace", name)
    cluster.kubectl("-n", name, "create", "serviceaccount", "lithify-driver")
    return name


def podding_in(stack: ExitStack, cluster: Cluster, port: int, word: str, folder: Path) -> Podding:
    """Such a namespace, with an operator that is at work."""
    name = namespace_of_drivers(stack, cluster, word)
    bound_to = stack.enter_context(node(cluster))
    stage = stage_in(stack, cluster, port, name, folder)
    stage.operator.options = LAUNCHER
    stage.operator.restart()
    return Podding(stage, stack.enter_context(Story(stage.server, (PODS,))), bound_to)
