"""Whatever the files hold, loading ends with settings or with problems."""

import contextlib
import json
import tempfile
from pathlib import Path
from typing import Any, cast

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from settings.ground import Ground
from switchboard.config.problems import ConfigInvalid
from switchboard.config.strict import Either, Items, Members, Table
from switchboard.settings.explain import explain, show
from switchboard.settings.files.file_shapes import CHILD, GIVEN, SIDECAR, SUITES, TOML
from switchboard.settings.load import load
from switchboard.settings.scopes.session_servers import servers_in_scope

_WORDS = [
    "",
    " ",
    "x",
    "stdio",
    "http",
    "https://a.example",
    "env:A",
    "${A}",
    "$${",
    "..",
    "/",
    "é",
    "\x00",
]
_LEAVES = (
    st.none() | st.booleans() | st.integers(-2, 99_999) | st.floats() | st.sampled_from(_WORDS)
)
_NAMES = st.sampled_from(["x", "x ", "y", "", "a.b", "codex", "NODE_OPTIONS", "API_KEY"])


def _of(kind: Any) -> st.SearchStrategy[Any]:
    """Values that mostly have the right shape, and now and then do not."""
    match kind:
        case Table():
            fields = {name: _of(inner) for name, inner in kind.fields.items()}
            shaped: st.SearchStrategy[Any] = st.fixed_dictionaries({}, optional=fields)
        case Members():
            shaped = st.dictionaries(_NAMES, _of(kind.value), max_size=3)
        case Items():
            shaped = st.lists(_of(kind.item), max_size=2)
        case Either():
            shaped = _of(kind.first) | _of(kind.other)
        case _:
            choices: tuple[str, ...] = getattr(kind, "choices", ())
            return st.sampled_from([*choices, "x", "https://a.example"]) | _LEAVES
    return st.integers(0, 30).flatmap(lambda roll: _LEAVES if roll == 0 else shaped)


def _toml(value: Any) -> str:
    """A value as inline TOML; a `null`, which TOML has not, becomes an empty string."""
    if isinstance(value, dict):
        members = cast("dict[str, Any]", value)
        return "{" + ", ".join(f"{json.dumps(k)} = {_toml(v)}" for k, v in members.items()) + "}"
    if isinstance(value, list):
        items = cast("list[Any]", value)
        return "[" + ", ".join(map(_toml, items)) + "]"
    if isinstance(value, bool) or value is None:
        return '""' if value is None else str(value).lower()
    return repr(value) if isinstance(value, float | int) else json.dumps(value)


@settings(
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(
    sidecar=_of(SIDECAR),
    suites=_of(SUITES),
    child=_of(CHILD),
    given_file=_of(GIVEN),
    toml=_of(TOML),
)
def test_loading_never_ends_in_a_traceback(
    sidecar: Any, suites: Any, child: Any, given_file: Any, toml: Any
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ground = Ground(Path(folder).resolve())
        ground.put(ground.own / "mcp.json", json.dumps(sidecar))
        ground.put(ground.home / "mcp.json", json.dumps(sidecar))
        ground.put(ground.workspace / "switchboard.config.json", json.dumps(suites))
        ground.child("x", json.dumps(child))
        given_path = ground.put(ground.user_home / "given.json", json.dumps(given_file))
        if isinstance(toml, dict):
            sections = cast("dict[str, Any]", toml)
            text = "\n".join(f"{key} = {_toml(value)}" for key, value in sections.items())
            ground.put(ground.home / "config.toml", text)
            ground.put(ground.own / "config.toml", text)
        with contextlib.suppress(ConfigInvalid):
            loaded, loading = load(
                workspace=str(ground.workspace), environ=ground.environ(), config=str(given_path)
            )
            for shown in show(loading):
                explain(loading, shown.key)
            servers_in_scope(loaded, provider="x")
