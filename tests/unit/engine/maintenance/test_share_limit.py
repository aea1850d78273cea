"""Orphans that are most of a table are not deleted."""

from __future__ import annotations

import pytest

from lithify.engine.maintenance.share_limit import Amount, check_share
from lithify.errors import TooManyOrphans


@pytest.mark.parametrize(
    ("orphans", "listed", "share", "is_refused"),
    [
        (Amount(), Amount(), 0.5, False),
        (Amount(50, 1), Amount(100, 1000), 0.5, False),
        (Amount(51, 1), Amount(100, 1000), 0.5, True),
        (Amount(1, 501), Amount(100, 1000), 0.5, True),
        (Amount(100, 1000), Amount(100, 1000), 1.0, False),
        (Amount(100, 0), Amount(100, 0), 0.9, True),
    ],
    ids=["empty table", "half of the files", "more files", "few large ones", "all, on purpose", "no bytes"],
)
def test_share_by_files_and_by_bytes(orphans: Amount, listed: Amount, share: float, is_refused: bool) -> None:
    if is_refused:
        with pytest.raises(TooManyOrphans, match="a larger most share"):
            check_share("db.t", orphans, listed, share)
    else:
        check_share("db.t", orphans, listed, share)
