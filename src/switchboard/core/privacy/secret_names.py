"""Names whose values are likely secrets. On the cold-start path, so no patterns."""

_WORDS = (
    *("SECRET", "TOKEN", "PASSWORD", "PASSWD", "PASSPHRASE", "API_KEY", "APIKEY", "ACCESSKEY"),
    *("PRIVATE_KEY", "PRIVATEKEY", "AUTHORIZATION", "BEARER", "CREDENTIAL", "COOKIE"),
)
_ENDS = ("_KEY", "_KEYS", "_PWD")
_WHOLE = frozenset({"PASS", "PWD"})
# They tell where something is, not what it is.
_PLACES = ("_URL", "_URI", "_PATH", "_FILE", "_DIR")
# How something is looked up.
_LOOKUPS = frozenset({"PRIMARY_KEY", "FOREIGN_KEY", "SORT_KEY", "PARTITION_KEY"})


def is_secret_name(name: str) -> bool:
    """Whether the value under this name is likely a secret."""
    # `MAX_TOKENS` counts; `GITHUB_TOKEN` opens doors.
    upper = name.upper().replace("-", "_").replace(".", "_").replace("TOKENS", "")
    if upper.endswith(_PLACES) or upper in _LOOKUPS:
        return False
    if upper in _WHOLE or upper.endswith(_ENDS) or any(word in upper for word in _WORDS):
        return True
    # As in `sshKey`.
    return len(name) > len("Key") and name.endswith("Key")
