"""The vault of a home, whichever engine its owner chose."""

import os
from collections.abc import Mapping
from urllib.parse import urlsplit

from switchboard.core.faults import Fault, FaultCode
from switchboard.core.stores import VaultStore
from switchboard.vault.faults import fault_from_access
from switchboard.vault.file_vault import FileVault
from switchboard.vault.keys.passphrase import AskPassphrase
from switchboard.vault.keys.sources import VaultKeys
from switchboard.vault.options import VaultOptions
from switchkit.files import open_private

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_LONGEST_TOKEN = 4_096


def vault_folder(home: str) -> str:
    """Where the vault of a home lies."""
    return os.path.join(home, "vault")


def open_vault(
    home: str,
    options: VaultOptions,
    environ: Mapping[str, str],
    *,
    ask: AskPassphrase | None = None,
    told: Mapping[str, bytes] | None = None,
) -> VaultStore:
    """The vault of a home. Nothing is opened or made yet. Raises a fault.

    `ask` is for whoever has a person at hand; without it nothing waits for anybody. `told` are keys
    that somebody may have told us by then, by their ids.
    """
    if options.engine == "hashicorp":
        return _kv_vault(options, environ)
    return open_file_vault(home, options, ask=ask, told=told)


def open_file_vault(
    home: str,
    options: VaultOptions,
    *,
    ask: AskPassphrase | None = None,
    told: Mapping[str, bytes] | None = None,
) -> FileVault:
    """The vault of a home that is a file."""
    folder = vault_folder(home)
    return FileVault(folder, VaultKeys(folder, options, ask, told=told))


def _kv_vault(options: VaultOptions, environ: Mapping[str, str]) -> VaultStore:
    where = urlsplit(options.address)
    if where.scheme != "https" and not (
        where.scheme == "http" and (where.hostname or "") in _LOOPBACK
    ):
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "vault-address-invalid",
            "the address of the vault server must begin with `https://`",
            hint="set `address` in `[vault]` of `config.toml`",
        )
    try:
        # Teams have one; few people do.
        from switchboard.vault.kv_vault import KvVault  # noqa: PLC0415
    except ImportError:
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "vault-engine-not-installed",
            "the package `hvac` is not installed, which speaks to the vault server",
            hint="pip install 'switchboard-mcp[hashicorp]'",
        ) from None
    return KvVault(options, lambda: _token(options, environ))


def _token(options: VaultOptions, environ: Mapping[str, str]) -> str:
    """The token of the user: of the environment, else of a file. Raises a fault."""
    if token := environ.get("VAULT_TOKEN", "").strip():
        return token
    path = options.token_file or os.path.join(environ.get("HOME") or "/", ".vault-token")
    try:
        with os.fdopen(open_private(path, os.O_RDONLY, mend=False), "rb") as file:
            token = file.read(_LONGEST_TOKEN).decode("ascii", "replace").strip()
    except FileNotFoundError:
        token = ""
    except OSError as error:
        raise fault_from_access("the token file of the vault server", error) from error
    if not token:
        raise Fault(
            FaultCode.UNAUTHENTICATED,
            "vault-token-missing",
            "there is no token for the vault server",
            hint="log in there (`vault login`, `bao login`), or set VAULT_TOKEN",
        )
    return token
