"""A hello arrives as it was meant, whatever its words; what is none is refused."""

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchboard.daemon.hello import NoHello, read_hello, read_values
from switchboard.ipc.hello import hello_line, object_text
from switchboard.ipc.paths import places_from
from switchboard.ipc.protocol import ABI, CLIENT, CONTROL

# Bytes as the operating system gives them: any but zero.
WORDS = st.binary(max_size=40).map(lambda raw: os.fsdecode(raw.replace(b"\0", b"")))


@given(st.dictionaries(WORDS, WORDS, max_size=5), WORDS, WORDS)
def test_any_words_arrive(environ: dict[str, str], cwd: str, workspace: str) -> None:
    line = hello_line(CLIENT, home="/h", cwd=cwd, workspace=workspace, environ=environ)
    assert line.count(b"\n") == 1
    hello = read_hello(line)
    assert (hello.kind, hello.abi, hello.home) == ("client", ABI, "/h")
    assert (hello.cwd, hello.workspace, hello.environ) == (cwd, workspace, environ)


@given(st.dictionaries(WORDS, WORDS, max_size=5))
def test_any_variables_arrive(values: dict[str, str]) -> None:
    assert read_values(object_text(values).encode("ascii")) == values


@given(st.binary(max_size=200))
def test_what_is_no_hello_is_refused(line: bytes) -> None:
    with pytest.raises(NoHello):
        read_hello(line)


def test_a_hello_of_another_kind_is_refused() -> None:
    assert read_hello(hello_line(CONTROL, home="/h")).kind == "control"
    with pytest.raises(NoHello):
        read_hello(hello_line("visitor", home="/h"))


@pytest.mark.parametrize(
    ("environ", "given_home", "home"),
    [
        ({"HOME": "/u"}, "", "/u/.switchboard"),
        ({"HOME": "/u", "SWITCHBOARD_HOME": "/s"}, "", "/s"),
        ({"HOME": "/u", "SWITCHBOARD_HOME": "~/s"}, "", "/u/s"),
        ({"HOME": "/u", "SWITCHBOARD_HOME": "/s"}, "/g", "/g"),
    ],
)
def test_the_home_is_found_as_the_configuration_finds_it(
    environ: dict[str, str], given_home: str, home: str
) -> None:
    places = places_from(environ, given_home)
    assert (places.home, places.folder) == (home, f"{home}/run")
