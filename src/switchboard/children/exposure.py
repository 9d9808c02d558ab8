"""How servers are shown, as users write it in `switchboard.config.json`."""

from typing import Literal, get_args

from msgspec import Struct

from switchboard.children.schema import Exposure, Framing, Likeness, Protocol, Sharing

IntrospectionMode = Literal["summary", "full", "auto"]
IntrospectionFormat = Literal["json", "signatures"]
SplitMode = Literal["never", "auto", "always"]
ResultMode = Literal["json", "compact", "passthrough"]
RESULT_MODES: tuple[str, ...] = get_args(ResultMode)
HandleMode = Literal["auto", "always"]
# Of fewer tokens no part of a result could be told beside what it is a part of.
_LEAST_TOKENS = 256
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


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
    inline_tokens: int | None = None
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
    """How suites answer with what their children said, and what becomes of answers nobody got."""

    mode: ResultMode = "json"
    # Results that are longer are kept, and read in parts; 0 and nothing mean none.
    inline_tokens: int | None = None
    # `auto` leaves it to hosts that put long results into files themselves.
    handles: HandleMode = "auto"
    # For how long an outcome is kept whose client has not got it: `90m`, `24h`, `7d`; `0` for not.
    keep: str = "24h"

    def inlined(self, own: SuiteSettings | None = None) -> int:
        """How many tokens a result may have, of one server or of others; 0 for any number."""
        tokens = (
            self.inline_tokens if own is None or own.inline_tokens is None else own.inline_tokens
        )
        return max(tokens, _LEAST_TOKENS) if tokens else 0

    @property
    def keep_s(self) -> float:
        """The same in seconds."""
        return float(self.keep[:-1] or 0) * _SECONDS.get(self.keep[-1:], 0)


class Faces(Struct, frozen=True, kw_only=True):
    """Whether a suite has a second tool, by which only what reads can be called."""

    # `auto` leaves it to the client: whether its own rules tell reading from writing.
    split: SplitMode = "never"


class Introspection(Struct, frozen=True, kw_only=True):
    """How much `introspect` says of each subtool."""

    mode: IntrospectionMode = "summary"
    # The shape alone; how much is said is the mode.
    format: IntrospectionFormat = "json"
    summary_max_chars: int = 160
    # Commands show people everything; what a host would cut for its model is given in fewer words.
    is_bounded: bool = True


def reading_name(suite: str) -> str:
    """What the tool is called by which a suite is only read."""
    return f"{suite}_read"
