"""A home and a workspace of real files, with a vault whose key lies beside it."""

from pathlib import Path

import pytest

from settings.ground import Ground
from switchboard.vault.file_vault import FileVault
from vault.ground import file_vault


@pytest.fixture
def ground(tmp_path: Path) -> Ground:
    return Ground(tmp_path)


@pytest.fixture
def vault(ground: Ground) -> FileVault:
    ground.home.mkdir(exist_ok=True)
    return file_vault(ground.home / "vault")
