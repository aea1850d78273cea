"""Iceberg tables on HDFS, which Spark writes through Java's own file system."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass

from infrastructure.hdfs.proxy import RpcProxy
from infrastructure.hdfs.server import HdfsCluster, name_service
from infrastructure.iceberg.catalogs import CatalogAddress, fresh_name
from infrastructure.iceberg.spark import SparkIceberg
from infrastructure.iceberg.tables import SparkTable
from lithify.formats.protocol.address import TableAddress


@dataclass(frozen=True, slots=True)
class Warehouse:
    """A warehouse of a cluster by a name service: clients may have different addresses for its name node.

    Attributes:
        cluster: it.
        service: the name, unique because Java's clients keep what they know of a name for ever.
    """

    cluster: HdfsCluster
    service: str

    @classmethod
    def of(cls, cluster: HdfsCluster) -> Warehouse:
        """One that no other test has."""
        return cls(cluster, f"lake-{secrets.token_hex(4)}")

    @property
    def url(self) -> str:
        """The folder."""
        return f"hdfs://{self.service}/{self.service}"

    def options(self, proxy: RpcProxy | None = None) -> dict[str, str]:
        """Options that reach it, by way of a proxy if there is one."""
        return name_service(self.service, *(self.cluster.ports if proxy is None else [proxy.port]))

    def catalog(
        self, spark: SparkIceberg, kind: Mapping[str, str] | None = None, proxy: RpcProxy | None = None
    ) -> CatalogAddress:
        """A catalog of Spark's: the folder itself, unless another kind is given."""
        options = {"warehouse": self.url, **(kind or {"type": "hadoop"}), **self.options(proxy)}
        return spark.add_catalog(CatalogAddress(fresh_name("hdfs"), options))

    def address(self, table: SparkTable, proxy: RpcProxy | None = None) -> TableAddress:
        """Where our runs find a table of the folder."""
        return TableAddress(self.url, table.identifier, self.options(proxy), format="iceberg")
