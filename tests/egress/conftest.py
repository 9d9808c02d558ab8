"""The den of a test."""

from pathlib import Path

import pytest

from sandbox.den import Den


@pytest.fixture
def den(tmp_path: Path) -> Den:
    return Den(tmp_path)
