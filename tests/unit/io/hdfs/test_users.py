"""Users of HDFS in one process: one at a time, each under its own name."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from lithify.io.hdfs.users import acting_as

ROUNDS = 50


def test_requests_never_have_the_name_of_another_user() -> None:
    def seen(user: str) -> set[str | None]:
        names = set()
        for _ in range(ROUNDS):
            with acting_as(user):
                names.add(os.environ.get("HADOOP_USER_NAME"))
        return names

    users = ["alice", "bob", "carol"] * 2
    with ThreadPoolExecutor(len(users)) as pool:
        assert list(pool.map(seen, users)) == [{user} for user in users]


def test_the_process_gets_its_own_name_back() -> None:
    with acting_as(None):
        own = os.environ.get("HADOOP_USER_NAME")
    with acting_as("alice"):
        assert os.environ["HADOOP_USER_NAME"] == "alice"
    with acting_as(None):
        assert os.environ.get("HADOOP_USER_NAME") == own
