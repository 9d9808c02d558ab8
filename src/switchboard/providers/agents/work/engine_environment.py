"""What of the environment an engine is given: what any program needs, and its own credentials."""

from collections.abc import Iterable, Mapping

from switchboard.children.environment import base_environment
from switchboard.children.http.proxy import PROXY_NAMES
from switchboard.ipc.environment import DEPTH_VARIABLE

_CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS")
_CODEX = ("CODEX_HOME", "CODEX_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ORGANIZATION")
_CLAUDE = (
    *("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", "ANTHROPIC_MODEL"),
    *("ANTHROPIC_SMALL_FAST_MODEL", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CONFIG_DIR"),
    *("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX"),
)
_ACP = (
    *("OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT", "OPENCODE_CONFIG_DIR"),
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"),
    *("GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENROUTER_API_KEY"),
)
_OF_ENGINES: dict[str, tuple[str, ...]] = {
    "codex": _CODEX,
    "claude": _CLAUDE,
    "acp": (*_CODEX, *_CLAUDE, *_ACP),
}


def engine_names(key: str = "", more: Iterable[str] = ()) -> frozenset[str]:
    """The variables that an engine looks at, beside those of every program; of all without one."""
    kind = key.partition(":")[0]
    own = _OF_ENGINES[kind] if kind in _OF_ENGINES else _OF_ENGINES["acp"]
    return frozenset((*own, *_CERTIFICATES, *PROXY_NAMES, *more, DEPTH_VARIABLE))


def engine_environment(
    environ: Mapping[str, str], key: str, *, depth: int, more: Iterable[str] = ()
) -> dict[str, str]:
    """The environment of an engine whose run stands this deep."""
    names = engine_names(key, more)
    own = {name: environ[name] for name in names if name in environ}
    return {**base_environment(environ), **own, DEPTH_VARIABLE: str(depth + 1)}
