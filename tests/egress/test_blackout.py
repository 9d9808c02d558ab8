"""A credential that comes back is not shown, in whatever letters a host writes it."""

import base64

import pytest

from switchboard.egress.blackout import Blackout, HiddenForms

VALUE = "ghp_S3cretTokenValue0123456789abcdef"

WRITTEN = {
    "as it is": VALUE,
    "in capitals": VALUE.upper(),
    "in small letters": VALUE.lower(),
    "with case turned round": VALUE.swapcase(),
    "in addresses": "".join(f"%{ord(each):02x}" for each in VALUE),
    "in addresses, in capitals": "".join(f"%{ord(each):02X}" for each in VALUE),
    "every second letter": "".join(
        each if at % 2 else f"%{ord(each):02X}" for at, each in enumerate(VALUE)
    ),
    "in JSON": "".join(f"\\u{ord(each):04x}" for each in VALUE),
    "in scripts": "".join(f"\\x{ord(each):02x}" for each in VALUE),
    "in HTML": "".join(f"&#{ord(each)};" for each in VALUE),
    "in HTML, by sixteens": "".join(f"&#x{ord(each):X};" for each in VALUE),
    "in HTML, with zeros": "".join(f"&#{ord(each):05d};" for each in VALUE),
    "in hexadecimal": VALUE.encode().hex().upper(),
}


@pytest.mark.parametrize("written", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("size", [1, 3, 7, 1_000])
def test_a_value_is_taken_out_also_if_it_comes_in_pieces(written: str, size: int) -> None:
    text = f"before {written} behind 100% & more".encode()
    hide = Blackout(HiddenForms(VALUE))
    pieces = [hide.feed(text[at : at + size]) for at in range(0, len(text), size)]
    told = b"".join(pieces) + hide.flush()
    assert told == f"before {'*' * len(written)} behind 100% & more".encode()


def test_base64_is_taken_out_wherever_it_begins() -> None:
    for before in ("", "x", "xy"):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            told = Blackout(HiddenForms(VALUE)).whole(encode(f"{before}{VALUE}".encode()))
            assert told.count(b"*") >= len(VALUE)


def test_what_holds_no_value_is_passed_on_at_once() -> None:
    hide = Blackout(HiddenForms(VALUE))
    for each in (b"data: hello\n\n", b"100% of it\n", b"a &amp; b \\n\n"):
        assert hide.feed(each) == each
