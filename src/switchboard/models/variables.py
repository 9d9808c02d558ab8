"""The variables that clients of models look up, for who has to bring them along or hide them."""

from switchboard.children.http.proxy import PROXY_NAMES

KEY_NAME = "ANTHROPIC_API_KEY"
URL_NAME = "ANTHROPIC_BASE_URL"

# By who is asked.
_KEYS = {
    "anthropic": (KEY_NAME,),
    "codex": ("CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "OPENAI_API_KEY"),
    "claude": (KEY_NAME, "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
}
_OTHERS = {
    "anthropic": (URL_NAME,),
    "codex": ("CODEX_HOME", "OPENAI_BASE_URL", "NODE_EXTRA_CA_CERTS"),
    "claude": (
        *(URL_NAME, "CLAUDE_CONFIG_DIR", "NODE_EXTRA_CA_CERTS"),
        *("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"),
    ),
}


def secret_names(engine: str) -> frozenset[str]:
    """The variables whose values nobody may be told."""
    return frozenset(_KEYS[engine])


def variable_names(engine: str) -> frozenset[str]:
    """Every variable that is looked up, beside those of every program."""
    return frozenset((*_KEYS[engine], *_OTHERS[engine], *PROXY_NAMES))
