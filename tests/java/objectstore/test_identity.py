"""Workload identity: no keys anywhere, but a projected token that S3's token service exchanges for some."""

from __future__ import annotations

import ssl
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import trustme

from infrastructure.objectstore.fixtures import Bucket
from infrastructure.objectstore.proxy import S3Proxy
from infrastructure.objectstore.server import ACCESS_KEY, SECRET_KEY
from infrastructure.objectstore.tables import IMPATIENT, run, small_table
from lithify.errors import NotAllowed, StorageUnavailable

ROLE = "arn:aws:iam::123456789012:role/lithify"


class TokenService:
    """Exchanges tokens for keys that are soon to expire, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: list[dict[str, list[str]]] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                service.asked.append({**parse_qs(urlsplit(self.path).query), **parse_qs(body)})
                answer = service.answer().encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        self.http = HTTPServer(("127.0.0.1", 0), Handler)

    def answer(self) -> str:
        expires = (datetime.now(UTC) + timedelta(hours=1)).isoformat()
        return (
            "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>"
            f"<AccessKeyId>{ACCESS_KEY}</AccessKeyId><SecretAccessKey>{SECRET_KEY}</SecretAccessKey>"
            f"<SessionToken>session</SessionToken><Expiration>{expires}</Expiration>"
            "</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"
        )


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TokenService]:
    token = tmp_path / "token"
    token.write_text("projected-token")
    service = TokenService()
    authority = trustme.CA()
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(server_side)
    service.http.socket = server_side.wrap_socket(service.http.socket, server_side=True)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    thread = threading.Thread(target=service.http.serve_forever, args=(0.02,))
    thread.start()
    monkeypatch.setenv("AWS_ROLE_ARN", ROLE)
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(token))
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", f"https://localhost:{service.http.server_port}")
    yield service
    service.http.shutdown()
    service.http.server_close()
    thread.join()


def without_keys(s3: Bucket, endpoint: str | None = None) -> dict[str, str]:
    return {**s3.options(endpoint), "s3.access-key": "", "s3.secret-key": "", **IMPATIENT}


def test_requests_are_signed_with_what_the_token_was_exchanged_for(s3: Bucket, service: TokenService) -> None:
    """Only that far: the test server knows no session tokens, and refuses them."""
    small_table(s3)

    with S3Proxy(s3.server) as proxy, pytest.raises(NotAllowed):
        run(s3, options=without_keys(s3, proxy.endpoint))

    [asked] = service.asked
    assert (asked["RoleArn"], asked["WebIdentityToken"]) == ([ROLE], ["projected-token"])
    headers = {name.lower(): value for name, value in proxy.asked[0].headers}
    assert headers["x-amz-security-token"] == "session"
    assert f"Credential={ACCESS_KEY}/" in headers["authorization"]


def test_keys_of_the_catalog_come_first(s3: Bucket, service: TokenService) -> None:
    small_table(s3)

    assert run(s3).status == "Compacted"

    assert service.asked == []


def test_a_token_that_is_not_there_yet_is_no_fault_of_the_user(
    s3: Bucket, service: TokenService, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    small_table(s3)
    monkeypatch.setenv("AWS_WEB_IDENTITY_TOKEN_FILE", str(tmp_path / "none"))

    with pytest.raises(StorageUnavailable):
        run(s3, options=without_keys(s3))
