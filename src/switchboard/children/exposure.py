"""How servers are shown, as users write it in `switchboard.config.json`."""

from typing import Literal

from msgspec import Struct

from switchboard.children.schema import Exposure, Framing, Protocol, Sharing

IntrospectionMode = Literal["summary", "full"]
ResultMode = Literal["json", "passthrough"]


class SuiteSettings(Struct, frozen=True, kw_only=True):
    """The settings of one child's suite."""

    suite_name: str = ""
    description: str = ""
    # The child's own `switchboardDescription` wins over `description` unless this is set.
    override_description: bool = False
    # `None` shows every subtool; an empty list shows none.
    allow: tuple[str, ...] | None = None
    deny: tuple[str, ...] = ()
    summary_max_chars: int | None = None
    result_mode: ResultMode = "json"
    rpc_timeout_ms: int | None = None
    idle_ms: int | None = None
    framing: Framing | None = None
    protocol: Protocol | None = None
    scope: Sharing | None = None
    inherit_env: bool | None = None
    expose: Exposure | None = None
    tool_prefix: str | None = None
    relay: bool | None = None
    natural_language: bool | None = None


class Introspection(Struct, frozen=True, kw_only=True):
    """How much `introspect` says of each subtool."""

    mode: IntrospectionMode = "summary"
    summary_max_chars: int = 160
