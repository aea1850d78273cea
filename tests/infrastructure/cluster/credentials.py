"""Certificates, keys and the kubeconfig of one control plane, made anew each time it starts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import trustme
import yaml
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

CONTEXT = "lithify-test-cluster"
SERVICE_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)


@dataclass(frozen=True, slots=True)
class Credentials:
    """Files that the programs are given."""

    authority: Path
    server_certificate: Path
    server_key: Path
    client_certificate: Path
    client_key: Path
    service_account_key: Path

    @classmethod
    def within(cls, folder: Path) -> Credentials:
        """The files' names in a folder."""
        return cls(
            authority=folder / "ca.crt",
            server_certificate=folder / "server.crt",
            server_key=folder / "server.key",
            client_certificate=folder / "client.crt",
            client_key=folder / "client.key",
            service_account_key=folder / "service-accounts.key",
        )

    def make(self, addresses: tuple[str, ...]) -> None:
        """Writes the files of a new certificate authority; the client is a member of system:masters."""
        self.authority.parent.mkdir(parents=True, exist_ok=True)
        authority = trustme.CA()
        server = authority.issue_cert(*addresses, *SERVICE_NAMES)
        client = authority.issue_cert(
            "lithify-test", common_name="lithify-test", organization_name="system:masters"
        )
        authority.cert_pem.write_to_path(str(self.authority))
        _write(server, self.server_certificate, self.server_key)
        _write(client, self.client_certificate, self.client_key)
        self.service_account_key.write_bytes(_rsa_key())

    def write_kubeconfig(self, path: Path, server: str) -> None:
        """Writes how to reach the API server at an address."""
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": CONTEXT, "cluster": {"server": server, "certificate-authority": str(self.authority)}}
            ],
            "users": [
                {
                    "name": CONTEXT,
                    "user": {
                        "client-certificate": str(self.client_certificate),
                        "client-key": str(self.client_key),
                    },
                }
            ],
            "contexts": [{"name": CONTEXT, "context": {"cluster": CONTEXT, "user": CONTEXT}}],
            "current-context": CONTEXT,
        }
        path.write_text(yaml.safe_dump(content))


def _write(issued: trustme.LeafCert, certificate: Path, key: Path) -> None:
    certificate.write_bytes(b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    issued.private_key_pem.write_to_path(str(key))


def _rsa_key() -> bytes:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )
