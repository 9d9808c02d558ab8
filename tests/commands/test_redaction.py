"""Secrets in texts: by value in every usual form, by shape, and across any border."""

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.requirements import requirement
from switchboard.core.privacy.redaction import redacted_text
from switchboard.core.privacy.secret_names import is_secret_name
from switchboard.core.privacy.secrets import REDACTED, KnownSecrets
from switchboard.core.privacy.stream_redaction import StreamRedactor

SECRET = 'p4ss/w+rd "ü" & more'


@requirement("S3.67")
@pytest.mark.parametrize(
    "form",
    [
        SECRET,
        quote(SECRET),
        quote(SECRET, safe=""),
        quote_plus(SECRET),
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET, ensure_ascii=False)[1:-1],
        SECRET.encode().hex(),
        SECRET.encode().hex().upper(),
        *(base64.b64encode(b"x" * n + SECRET.encode() + b"y" * m).decode()
          for n in range(3) for m in range(3)),
        base64.urlsafe_b64encode(SECRET.encode()).decode(),
    ],
)  # fmt: skip
def test_a_known_value_is_found_in_every_form(form: str) -> None:
    shown, count = KnownSecrets([SECRET]).counted(f"<{form}>")
    assert count == 1
    assert form not in shown
    assert REDACTED in shown


def test_short_values_are_let_be_and_longer_ones_come_first() -> None:
    hide = KnownSecrets(["abc", "secret", "secret-and-more"])
    assert hide("abc secret secret-and-more") == f"abc {REDACTED} {REDACTED}"


@requirement("S3.69")
@pytest.mark.parametrize(
    ("name", "secret"),
    [
        ("GITHUB_TOKEN", True),
        ("api-key", True),
        ("SSH_KEY", True),
        ("sshKey", True),
        ("DB_PASSWORD", True),
        ("AUTHORIZATION", True),
        ("COOKIE", True),
        ("CLIENT_SECRET", True),
        ("MAX_TOKENS", False),
        ("TOKEN_URL", False),
        ("PRIMARY_KEY", False),
        ("KEY", False),
        ("monkey", False),
        ("LANG", False),
    ],
)
def test_names_tell_secrets(name: str, secret: bool) -> None:
    assert is_secret_name(name) is secret


SHAPES = [
    "ghp_" + "a" * 36,
    "sk-" + "b" * 40,
    "AKIA" + "C" * 16,
    "Authorization: Bearer " + "d" * 30,
    "https://user:passw0rd@example.org/",
    "password=hunter2hunter2",
]


@pytest.mark.parametrize("text", SHAPES)
def test_what_has_the_shape_of_a_secret_is_taken_out(text: str) -> None:
    shown = redacted_text(f"see {text} there")
    assert REDACTED in shown
    assert shown.startswith("see ")


@requirement("S3.67")
@given(
    st.text(st.sampled_from("ab\n se-cret"), max_size=40),
    st.sampled_from(["secret-one", "aab aab", "two\nlines of it", "bbbbbbbb"]),
    st.text(st.sampled_from("ab\n se-cret"), max_size=40),
    st.lists(st.integers(1, 7), min_size=1),
)
def test_no_border_between_pieces_lets_a_secret_through(
    before: str, secret: str, after: str, sizes: list[int]
) -> None:
    hide = KnownSecrets([secret])
    text = before + secret + after
    redactor = StreamRedactor(hide)
    told, at, turn = "", 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        told += redactor.feed(text[at : at + size])
        at, turn = at + size, turn + 1
    told += redactor.flush()
    assert secret not in told.replace(REDACTED, "\0")
    # And nothing else is lost or held back for good.
    assert told == redacted_text(hide(text))


def test_a_line_without_an_end_is_passed_on_when_it_has_grown_long() -> None:
    secret = "s3cret-" * 3
    redactor = StreamRedactor(KnownSecrets([secret]))
    told = "".join(redactor.feed("x" * 1_000 + secret) for _ in range(100))
    assert len(told) > 50_000
    told += redactor.flush()
    assert told == ("x" * 1_000 + REDACTED) * 100


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_private_key_is_hidden_line_by_line(size: int) -> None:
    key = "-----BEGIN PRIVATE KEY-----\n" + "QUJD\n" * 50 + "-----END PRIVATE KEY-----\n"
    text = f"before\n{key}after\n"
    redactor = StreamRedactor()
    told = "".join(redactor.feed(text[at : at + size]) for at in range(0, len(text), size))
    told += redactor.flush()
    assert "QUJD" not in told
    assert told.startswith("before\n")
    assert told.endswith("after\n")
