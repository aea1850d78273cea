"""`lithify logs`: prints the log of a run's driver, whether that is a process of this machine or a pod."""

from __future__ import annotations

import asyncio
import shutil
import sys
from pathlib import Path

import click

from lithify.cli.operator_process import drivers_folder
from lithify.controller.cluster.client import connect, load_configuration
from lithify.controller.launching.folder import DriverFolder
from lithify.controller.launching.pod import pod_key, shared_pod_key
from lithify.errors import NotFound
from lithify.resources.compaction import Compaction
from lithify.resources.modelling import read
from lithify.resources.names import COMPACTION, ObjectKey


@click.command()
@click.argument("run")
@click.option("--namespace", default="default", show_default=True, help="Namespace of the Compaction.")
@click.option(
    "--state", default="~/.lithify", show_default=True, help="Folder of the operator on this machine."
)
@click.option(
    "--kubeconfig", envvar="KUBECONFIG", help="Kubeconfig file. Default: the pod's service account."
)
@click.option("--context", help="Context in the kubeconfig file. Default: its current one.")
def logs(run: str, namespace: str, state: str, kubeconfig: str | None, context: str | None) -> int:
    """Print the log of a run's driver: of a process on this machine, else of its pod in the cluster."""
    key = ObjectKey(namespace, run)
    folder = folder_of(drivers_folder(Path(state).expanduser()), key)
    if folder is None:
        click.echo(asyncio.run(_log_of_pod(key, kubeconfig, context)), nl=False)
        return 0
    with folder.log_file.open("rb") as log:
        shutil.copyfileobj(log, sys.stdout.buffer)
    return 0


def folder_of(drivers: Path, run: ObjectKey) -> DriverFolder | None:
    """The folder with the log of a run's driver process, which it may share; None if there is none."""
    folders = [DriverFolder(drivers, run), *DriverFolder.all(drivers)]
    found = (folder for folder in folders if folder.key == run or _is_shared_by(folder, run))
    return next((folder for folder in found if folder.log_file.exists()), None)


def _is_shared_by(folder: DriverFolder, run: ObjectKey) -> bool:
    record = folder.record() if folder.key.namespace == run.namespace else None
    return record is not None and run.name in {member.name for member in record.members}


async def _log_of_pod(run: ObjectKey, kubeconfig: str | None, context: str | None) -> str:
    configuration = await load_configuration(kubeconfig, context)
    async with connect(configuration) as api:
        found = await api.get(COMPACTION, run)
        if found is None:
            raise NotFound("Compaction", str(run), "name its namespace by --namespace")
        shared = read(Compaction, found).status.shared_run
        lead = run if shared is None else ObjectKey(run.namespace, shared.lead)
        pod = pod_key(run) if shared is None else shared_pod_key(lead)
        text = await api.log(pod)
        if text is None:
            hint = "it has not started, or was deleted; for drivers that are processes, give --state"
            raise NotFound("pod", str(pod), hint)
        return text
