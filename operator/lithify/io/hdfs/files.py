"""The files of tables on HDFS, accessed through `cluster`. Picklable: executors get one with their task.

Without Kerberos a user's name is no credential: any client that reaches a name node may do everything. So the
operator asks only name nodes, and only for paths on them, that who runs it has granted to the namespace.
"""

from __future__ import annotations

from lithify.errors import OutOfReach
from lithify.io.hdfs.cluster import Cluster
from lithify.io.hdfs.settings import HdfsSettings
from lithify.io.locations import ObjectPath
from lithify.io.objects.container import Container
from lithify.io.objects.files import StoreFiles
from lithify.settings import OWN_IDENTITY


class HdfsFiles(StoreFiles):
    """Files on HDFS.

    Args:
        settings: connection settings.
    """

    def __init__(self, settings: HdfsSettings) -> None:
        super().__init__(settings)
        self._settings = settings

    def bucket(self, path: str) -> tuple[Container, str]:
        """The cluster of a path, and the path in it; see `StoreFiles.bucket`."""
        return self._cluster(path)

    def rename(self, path: str, target: str) -> None:
        """Gives a file another path on the same cluster, which no file has; sent once."""
        cluster, key = self._cluster(path)
        cluster.rename(key, self._parsed(target).key)

    def delete_folders(self, path: str) -> None:
        """Deletes a directory if nothing but empty ones are below it."""
        cluster, key = self._cluster(path)
        cluster.delete_folders(key)

    def _cluster(self, path: str) -> tuple[Cluster, str]:
        there = self._parsed(path)
        self._check_reach(path, there)
        found = self._buckets.get(there.root)
        if not isinstance(found, Cluster):
            found = self._buckets[there.root] = Cluster(there.root, self._settings)
        return found, there.key

    def _check_reach(self, path: str, there: ObjectPath) -> None:
        """Checks each of the name nodes by its address: a Catalog may give a name service any."""
        for name_node in self._settings.name_nodes_of(there.root):
            if not self._settings.reach.covers(f"hdfs://{name_node}/{there.key}"):
                problem = (
                    "for HDFS the operator would use its own place in the network, and with Kerberos its own "
                    f"keytab, to ask {name_node}; who runs it can allow this path there with "
                )
                raise OutOfReach(path, problem, OWN_IDENTITY)
