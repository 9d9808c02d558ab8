"""One database for all tests of a module."""

from collections.abc import Generator

import pytest

from support.postgres import Cluster
from switchboard.postgres.address import DatabaseAddress


@pytest.fixture(scope="module")
def database(postgres: Cluster) -> Generator[DatabaseAddress]:
    with postgres.database() as address:
        yield address
