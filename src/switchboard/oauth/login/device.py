"""A login on another device, by RFC 8628: for machines where no browser can reach us."""

import asyncio
import time

import msgspec
from msgspec import Struct

from switchboard.oauth.client_identity import error_in
from switchboard.oauth.faults import login_refused, metadata_invalid, named_error
from switchboard.oauth.grant import Grant
from switchboard.oauth.http.guarded_web import GuardedWeb
from switchboard.oauth.login.attempt import Prepared
from switchboard.oauth.token_endpoint import TokenRefused
from switchboard.oauth.urls import checked_url

_WHAT = "the device authorization endpoint"
_PENDING, _SLOW_DOWN = "authorization_pending", "slow_down"
_INTERVAL_S = 5.0
_LONGEST_S = 1_800.0
_LONGEST_PAUSE_S = 60.0
_SERVER_FAILED = 500
_LONGEST_CODE = 64


class DeviceCode(Struct, frozen=True, kw_only=True):
    """What a person needs to let this machine in."""

    url: str
    code: str
    # The same page with the code filled in; empty where there is none.
    whole_url: str = ""
    device_code: str
    interval_s: float
    lasts_s: float

    def __repr__(self) -> str:
        # As that of a grant.
        return f"DeviceCode({self.url})"


class _Answer(Struct):
    device_code: str
    user_code: str
    verification_uri: str
    verification_uri_complete: str | None = None
    expires_in: float = 900.0
    interval: float = _INTERVAL_S


async def ask_device(prepared: Prepared, web: GuardedWeb) -> DeviceCode:
    """Ask for a code. Raises a fault."""
    server = prepared.found.server
    if not server.device_url:
        raise metadata_invalid(
            "this authorization server offers no login on another device",
            hint="leave `--device` out; with `--no-browser` you open the page yourself",
        )
    form, headers = prepared.client.prove(
        {
            "resource": prepared.found.resource,
            **({"scope": " ".join(prepared.scopes)} if prepared.scopes else {}),
        }
    )
    # By RFC 8628 a client names itself here, also where it proves who it is.
    form = {**form, "client_id": prepared.client.client_id}
    answer = await web.post_form(server.device_url, _WHAT, form, headers)
    if not answer.is_ok:
        raise login_refused(f"{_WHAT} answered with {named_error(error_in(answer.body))}")
    try:
        said = msgspec.json.decode(answer.body, type=_Answer)
    except (msgspec.MsgspecError, RecursionError):
        raise metadata_invalid(f"{_WHAT} answered with something that is no code") from None
    if not said.user_code.isprintable() or len(said.user_code) > _LONGEST_CODE:
        raise metadata_invalid(f"{_WHAT} answered with something that is no code")
    whole = said.verification_uri_complete
    return DeviceCode(
        url=checked_url(said.verification_uri, "the page for the code", web.rules),
        code=said.user_code,
        whole_url=checked_url(whole, "the page for the code", web.rules) if whole else "",
        device_code=said.device_code,
        interval_s=max(1.0, said.interval),
        lasts_s=min(max(1.0, said.expires_in), _LONGEST_S),
    )


async def finish_device(prepared: Prepared, device: DeviceCode, web: GuardedWeb) -> Grant:
    """Wait until somebody has let this machine in. Raises a fault."""
    interval_s = device.interval_s
    ends = time.monotonic() + device.lasts_s
    endpoint = prepared.endpoint(web)
    while time.monotonic() + interval_s < ends:
        await asyncio.sleep(interval_s)
        try:
            return prepared.grant(await endpoint.poll_device(device.device_code))
        except TokenRefused as refused:
            if refused.error == _SLOW_DOWN:
                interval_s += _INTERVAL_S
            elif refused.error != _PENDING and refused.status < _SERVER_FAILED:
                raise login_refused(str(refused)) from None
            interval_s = max(interval_s, min(refused.retry_after_s, _LONGEST_PAUSE_S))
    raise login_refused("nobody entered the code in time", hint="begin again")
