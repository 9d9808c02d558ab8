"""How servers are shown, as users write it in `switchboard.config.json`."""

from typing import Literal

from msgspec import Struct

from switchboard.children.schema import Exposure, Framing, Likeness, Protocol, Sharing

IntrospectionMode = Literal["summary", "full", "auto"]
SplitMode = Literal["never", "auto", "always"]
ResultMode = Literal["json", "compact", "passthrough"]


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
    # `None` leaves it to what all suites have.
    result_mode: ResultMode | None = None
    rpc_timeout_ms: int | None = None
    idle_ms: int | None = None
    framing: Framing | None = None
    protocol: Protocol | None = None
    scope: Sharing | None = None
    share: Likeness | None = None
    inherit_env: bool | None = None
    expose: Exposure | None = None
    tool_prefix: str | None = None
    relay: bool | None = None
    natural_language: bool | None = None


class Results(Struct, frozen=True, kw_only=True):
    """How suites answer with what their children said."""

    mode: ResultMode = "json"


class Faces(Struct, frozen=True, kw_only=True):
    """Whether a suite has a second tool, by which only what reads can be called."""

    # `auto` leaves it to the client: whether its own rules tell reading from writing.
    split: SplitMode = "never"


class Introspection(Struct, frozen=True, kw_only=True):
    """How much `introspect` says of each subtool."""

    mode: IntrospectionMode = "summary"
    summary_max_chars: int = 160
    # Commands show people everything; what a host would cut for its model is given in fewer words.
    is_bounded: bool = True
