"""How a request names an account."""

import pytest
from msgspec import Raw

from switchboard.core.sessions import ChosenAccount, Session
from switchboard.surface.known_client import KnownClient
from switchboard.surface.params import meta_from
from switchboard.wire.messages import RpcError

SESSION = Session(id="1", via="test", workspace="/")


def test_a_request_names_an_account_for_itself_alone() -> None:
    client = KnownClient(SESSION)
    meta = meta_from({"switchboard/account": Raw(b'"me"'), "theirs": Raw(b"1")})
    assert client.told(meta).account == ChosenAccount("me")
    assert client.session.account is None
    # It is ours, and no server hears of it.
    assert meta.foreign == b'"theirs":1,'
    both = {
        "switchboard/account": Raw(b'"me"'),
        "switchboard/session": Raw(b'{"cwd_override":"x"}'),
    }
    told = client.told(meta_from(both))
    assert (told.account, told.overrides.cwd) == (ChosenAccount("me"), "x")
    assert client.told(meta_from({"progressToken": Raw(b"1")})) is client.session


@pytest.mark.parametrize("written", [b"1", b'""', b"null", b'["me"]'])
def test_what_is_no_name_is_refused(written: bytes) -> None:
    with pytest.raises(RpcError) as refused:
        meta_from({"switchboard/account": Raw(written)})
    assert "`switchboard/account` must be the name of an account" in str(refused.value)
