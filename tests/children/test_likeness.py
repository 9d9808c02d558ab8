"""A server is given the same whether it is told all of an environment, or what it sees of it."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchboard.children.environment import child_environment
from switchboard.children.schema import ServerEntry
from switchboard.children.secrets.texts import references_of
from switchboard.children.sharing.likeness import Likenesses, differing, seen_by
from switchboard.ipc.environment import CERTIFICATE_NAMES, HELLO_NAMES

NAMES = (
    *HELLO_NAMES,
    *("https_proxy", "NO_PROXY", "UV_CACHE_DIR", "NPM_CONFIG_REGISTRY", "npm_config_cache"),
    *("MY_TOKEN", "OTHER_TOKEN", "VAULT_TOKEN", "ANYTHING", "SWITCHBOARD_HOME"),
)
ENVIRONS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from(["/a", "/b:/usr/bin", "x"]))
ENTRIES = st.builds(
    ServerEntry,
    name=st.just("some"),
    transport=st.just("stdio"),
    command=st.sampled_from(["npx", "uvx", "sh", "/usr/bin/env"]),
    args=st.sampled_from([(), ("-y", "npx")]),
    env=st.dictionaries(st.sampled_from(["PATH", "LANG", "HOME", "NO_PROXY"]), st.just("/own")),
    secret_env=st.sampled_from([{}, {"TOKEN": "env:MY_TOKEN"}, {"LANG": "env:OTHER_TOKEN"}]),
    inherit_env=st.booleans(),
    sandbox_profile=st.sampled_from(["none", "default"]),
    allow_network=st.booleans(),
    apart_from=st.sampled_from(["", "/a"]),
)


def started_with(entry: ServerEntry, environ: Mapping[str, str]) -> dict[str, str]:
    names = (each.removeprefix("env:") for each in references_of(entry))
    found = dict(zip(entry.secret_env, (environ.get(name, "") for name in names), strict=True))
    return child_environment(entry, environ, found)


@given(ENTRIES, ENVIRONS)
def test_what_a_server_sees_is_all_that_it_is_started_with(
    entry: ServerEntry, environ: dict[str, str]
) -> None:
    assert started_with(entry, seen_by(entry, environ)) == started_with(entry, environ)


@given(ENTRIES, ENVIRONS, ENVIRONS)
def test_servers_that_are_alike_are_started_alike(
    entry: ServerEntry, one: dict[str, str], other: dict[str, str]
) -> None:
    """But for the order of the folders where programs are found."""
    likenesses = Likenesses()
    first, second = (likenesses.of(entry, seen_by(entry, each)) for each in (one, other))
    if first == second:
        ours, theirs = started_with(entry, one), started_with(entry, other)
        ours.pop("PATH", None)
        theirs.pop("PATH", None)
        assert ours == theirs
    else:
        assert differing(first, second)


def test_a_remote_server_sees_proxies_and_whom_to_believe_and_no_more() -> None:
    entry = ServerEntry(name="far", transport="http", url="https://far.example/mcp")
    environ = dict.fromkeys((*NAMES, "SSL_CERT_FILE"), "x")
    seen = seen_by(entry, environ).keys()
    assert {"https_proxy", "NO_PROXY", "SSL_CERT_FILE", "HOME"} <= seen
    assert not seen & {"PATH", "LANG", "MY_TOKEN", "ANYTHING", *CERTIFICATE_NAMES[:1]}


ANY = {"sh", "node", "npx", "python3", "uvx", "git", "make", "env"}


@pytest.mark.parametrize(
    ("line", "counts"),
    [
        ("node server.js", {"node"}),
        ("python3 -m server", {"python3"}),
        ("env A=1 node server.js", {"node", "env"}),
        ("my-server --root git", {"my-server", "git"}),
        ("npx -y some-server", {"npx", "node"}),
        ("uvx some-server", {"uvx", "python3"}),
        ("sh -c anything", ANY),
        ("make serve", ANY),
        ("of-python", {"of-python", "python3"}),
        ("{bin}/of-python", {"python3"}),
        ("{bin}/my-server", set[str]()),
    ],
)
def test_of_a_path_count_the_programs_that_a_server_is_started_by(
    tmp_path: Path, line: str, counts: set[str]
) -> None:
    """Any other program may stand in front, and the server is shared all the same."""
    usual = tmp_path / "bin"
    names = ("node", "python3", "npx", "uvx", "sh", "git", "make", "env", "my-server", "of-python")
    for name in names:
        put(usual / name, "#!/usr/bin/env python3\n" if name == "of-python" else "#!/bin/sh\n")
    command, *args = line.format(bin=usual).split()
    entry = ServerEntry(name="some", transport="stdio", command=command, args=tuple(args))
    likenesses = Likenesses()
    before = likenesses.of(entry, {"PATH": str(usual)})
    found: set[str] = set()
    for name in names:
        other = put(tmp_path / f"other-{name}" / name, "#!/bin/sh\n").parent
        after = likenesses.of(entry, {"PATH": f"{other}:{usual}"})
        assert differing(before, after) in {(), ("PATH",)}
        if after != before:
            found.add(name)
    assert found == counts


def put(path: Path, text: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, "utf-8")
    path.chmod(0o755)
    return path
