"""A server that writes, behind a daemon that ends with the test."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from receipts.ground import Post


@pytest.fixture
def post() -> Iterator[Post]:
    # Short, so that the socket lies in the home as it does for users.
    with TemporaryDirectory(prefix="sb-", ignore_cleanup_errors=True) as folder:
        post = Post(Path(folder))
        yield post
        post.workspace.stop_daemon()
