"""What the home may say of its vault."""

from typing import Literal

from msgspec import Struct

Engine = Literal["file", "hashicorp"]
KeyChoice = Literal["auto", "keychain", "key-file", "own-key-file", "passphrase"]


class VaultOptions(Struct, frozen=True, kw_only=True):
    """Where secrets are, and where the key is that opens them. Only the home may say."""

    engine: Engine = "file"
    # For a new key of the file. One that exists is found where it was put.
    key: KeyChoice = "auto"
    # A file of the user's own with the key in it.
    key_file: str = ""
    # For HashiCorp Vault and OpenBao.
    address: str = ""
    mount: str = "secret"
    prefix: str = "switchboard"
    namespace: str = ""
    token_file: str = ""
    ca_file: str = ""
    timeout_ms: int = 5_000

    @property
    def private_files(self) -> tuple[str, ...]:
        """The files that open it, wherever the user keeps them."""
        return tuple(filter(None, (self.key_file, self.token_file)))
