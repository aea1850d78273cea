"""An authority of one's own in the operator's image, as spark-images/README.md says to add it."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import trustme

from infrastructure.images.build import Image
from node.images.conftest import running

BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
ASK = """
import ssl, sys, urllib.request, urllib.error
from obstore.store import S3Store
url = sys.argv[1]
store = S3Store("b", endpoint=url, access_key_id="a", secret_access_key="b", region="r",
                retry_config={"max_retries": 0})
for name, ask in {"S3": lambda: store.get("x"), "Python": lambda: urllib.request.urlopen(url)}.items():
    try:
        ask()
    except (FileNotFoundError, urllib.error.HTTPError) as error:
        print(name, "answered")
    except Exception as error:
        print(name, "refused")
"""


class NotFound(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_error(404)

    def log_message(self, *words: object) -> None:
        pass


@contextmanager
def served(authority: trustme.CA) -> Iterator[str]:
    """A server whose certificate is of the authority, and that has nothing."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with HTTPServer(("127.0.0.1", 0), NotFound) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"https://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_bundle_in_place_of_the_images_own_is_believed(operator_image: Image, tmp_path: Path) -> None:
    authority = trustme.CA()
    bundle = tmp_path / "bundle.crt"
    authority.cert_pem.write_to_path(bundle)
    bundle.chmod(0o644)
    root = operator_image.root
    seen = replace(root, shared={**root.shared, BUNDLE: bundle})
    with served(authority) as url:
        words = ("python3.11", "-c", ASK, url)
        assert running(operator_image)(*words) == "S3 refused\nPython refused\n"
        assert running(operator_image, seen)(*words) == "S3 answered\nPython answered\n"
