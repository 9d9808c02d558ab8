"""`switchboard mcp auth`: log in to a remote server, see logins, log out."""

import asyncio
import shlex
from collections.abc import Awaitable, Callable
from contextlib import suppress

from switchboard.audit.store import SqliteAudit
from switchboard.children.accounts.faults import no_account
from switchboard.children.schema import ServerEntry, by_account
from switchboard.cli.report import Report
from switchboard.cli.request import CommandRequest
from switchboard.cli.verbs.parts.auth.pasted import pasted_line
from switchboard.cli.verbs.parts.auth.reports import (
    LoginReport,
    LoginsReport,
    LogoutReport,
)
from switchboard.cli.verbs.parts.loading import settings_for
from switchboard.cli.verbs.parts.vault.input import passphrase_from
from switchboard.control.status import LoginStatus
from switchboard.core.faults import Fault, FaultCode
from switchboard.daemon.board.open_logins import client_secret, grant_store, login_status
from switchboard.daemon.board.vaults import Vaults
from switchboard.oauth.addresses import rules_for
from switchboard.oauth.ending import end_login, end_replaced
from switchboard.oauth.grant import Grant, entry_reference
from switchboard.oauth.grant_store import GrantStore
from switchboard.oauth.http.guarded_web import GuardedWeb
from switchboard.oauth.login.attempt import LoginAttempt, attempt_login, prepare
from switchboard.oauth.login.callback import Callback, answer_in
from switchboard.oauth.login.device import ask_device, finish_device
from switchboard.oauth.login.request import LoginRequest
from switchboard.oauth.login_trail import LoginTrail
from switchboard.procs.open_page import open_page
from switchboard.settings.sections import Settings
from switchboard.settings.server_names import no_server
from switchkit.cli.usage import UsageError

ACTIONS = ("login", "status", "logout")
_LAST_PORT = 65_535

Act = Callable[[CommandRequest, Settings, ServerEntry, GrantStore, LoginTrail], Awaitable[Report]]


def run_auth(request: CommandRequest) -> Report:
    """Do what the words of `mcp auth` say. Raises a fault or `UsageError`."""
    action, name = request.arguments.word(1), request.arguments.word(2)
    if action not in ACTIONS:
        listed = ", ".join(f"`{each}`" for each in ACTIONS)
        raise UsageError(f"`mcp auth` needs one of {listed}", "switchboard mcp auth login NAME")
    return act_on_login(request, action, name)


def act_on_login(request: CommandRequest, action: str, name: str) -> Report:
    """Log in, log out, or show logins, of one server or of all. Raises a fault or `UsageError`."""
    settings = settings_for(request)
    store = grant_store(settings, request.environ, _vaults(request))
    if action == "status":
        return _status(settings, store, name, request.arguments.one("account") or "")
    if not name:
        raise UsageError("`NAME` is missing", f"switchboard mcp auth {action} NAME")
    entry = _of_account(_remote(settings, name), action, request.arguments.one("account") or "")
    act = _log_in if action == "login" else _log_out
    return asyncio.run(_written_down(act, request, settings, entry, store))


async def _written_down(
    act: Act, request: CommandRequest, settings: Settings, entry: ServerEntry, store: GrantStore
) -> Report:
    """Do it, and have what became of it in the audit log before it is told."""
    log = SqliteAudit(settings.home)
    try:
        return await act(request, settings, entry, store, LoginTrail(lambda: log))
    finally:
        try:
            await log.flush()
        except Fault as fault:
            # What was done is done, at the server too.
            request.talk.say(f"it is not in the audit log: {fault.message}")
        await log.aclose()


def _vaults(request: CommandRequest) -> Vaults:
    # A vault with a passphrase asks for it, where there is somebody to ask.
    return Vaults(ask=passphrase_from(request))


def _remote(settings: Settings, name: str) -> ServerEntry:
    """The remote server of this name that may be used. Raises a fault."""
    for entry in settings.servers:
        if entry.name == name:
            if entry.transport == "stdio":
                raise Fault(
                    FaultCode.FAILED_PRECONDITION,
                    "server-not-remote",
                    f"`{name}` is a program on this machine, which has no login",
                    hint="its secrets are in `secret_env`",
                )
            return entry
    if any(entry.name == name for entry in settings.untrusted):
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "server-not-trusted",
            f"the server `{name}` of this workspace is not trusted yet",
            hint=f"look at what it is, then: switchboard trust {shlex.quote(name)}",
        )
    raise no_server(name, [entry.name for entry in settings.servers])


def _of_account(entry: ServerEntry, action: str, account: str) -> ServerEntry:
    """The entry of one account; the server itself if it has none. Raises a fault."""
    if entry.accounts and not account:
        names = ", ".join(each.name for each in entry.accounts)
        raise Fault(
            FaultCode.INVALID_ARGUMENT,
            "account-missing",
            f"`{entry.name}` has several accounts: {names}",
            hint=f"switchboard mcp auth {action} {shlex.quote(entry.name)} --account"
            f" {entry.accounts[0].name}",
        )
    for each in by_account(entry):
        if each.account == account:
            return each
    raise no_account(entry, account)


# Logging in


async def _log_in(
    request: CommandRequest,
    settings: Settings,
    entry: ServerEntry,
    store: GrantStore,
    trail: LoginTrail,
) -> Report:
    arguments = request.arguments
    reference = entry_reference(entry)
    before = store.find(reference)
    wanted = LoginRequest(
        entry=entry,
        more_scopes=arguments.all("scope"),
        former_scopes=before.asked if before is not None else (),
        client_secret=client_secret(entry, settings, request.environ, _vaults(request)),
        document_url=settings.login.client_metadata_url,
    )
    web = GuardedWeb(rules_for(entry), request.environ)
    try:
        if arguments.has("device"):
            grant = await _with_device(request, wanted, web)
        else:
            grant = await _with_page(request, wanted, web)
        before = await store.replace(reference, grant)
        await end_replaced(before, grant, web)
    except Fault as fault:
        trail.failed(entry, fault)
        raise
    finally:
        await web.aclose()
    trail.made(entry, grant)
    return LoginReport(login=login_status(entry.name, grant))


async def _with_page(request: CommandRequest, wanted: LoginRequest, web: GuardedWeb) -> Grant:
    arguments, talk = request.arguments, request.talk
    async with Callback(port=_port(arguments.one("port"))) as callback:
        talk.progress("looking for the authorization server …")
        attempt = await attempt_login(wanted, web, callback.redirect_uri)
        callback.expect(attempt.is_ours)
        _say_scopes(request, attempt.prepared.scopes)
        if wanted.entry.account:
            # A browser that remembers somebody logs them in without a word.
            talk.say(f"log in as `{wanted.entry.account}`: look whom the browser is logged in as")
        opened = not arguments.has("no-browser") and open_page(attempt.url, request.environ)
        talk.say(
            "finish the login in the browser; if it shows nothing, open this page:"
            if opened
            else "open this page in a browser, and log in there:"
        )
        talk.say(f"  {attempt.url}")
        if arguments.has("no-browser"):
            talk.say(
                "if the browser is on another machine, paste the address that it ends at, or the"
                " code, and press Enter:"
            )
        return await _answered(attempt, callback, web, reads=arguments.has("no-browser"))


async def _answered(
    attempt: LoginAttempt, callback: Callback, web: GuardedWeb, *, reads: bool
) -> Grant:
    """The login, by the browser's answer or by what somebody pastes, whichever is first."""
    waits = [asyncio.ensure_future(callback.answer())]
    pasted = asyncio.ensure_future(pasted_line()) if reads else None
    try:
        await asyncio.wait(
            [*waits, *([pasted] if pasted is not None else [])],
            return_when=asyncio.FIRST_COMPLETED,
        )
        if pasted is not None and pasted.done() and not waits[0].done():
            text = pasted.result()
            answer = answer_in(text)
            if answer is not None:
                return await attempt.finish(answer, web)
            return await attempt.finish_with_code(text, web)
        return await attempt.finish(waits[0].result(), web)
    finally:
        for each in (waits[0], pasted):
            if each is not None:
                each.cancel()
                with suppress(asyncio.CancelledError, Fault):
                    await each


async def _with_device(request: CommandRequest, wanted: LoginRequest, web: GuardedWeb) -> Grant:
    talk = request.talk
    # Registered with the client, and never used.
    redirect_uri = "http://127.0.0.1/callback"
    prepared = await prepare(wanted, web, redirect_uri=redirect_uri, with_device=True)
    device = await ask_device(prepared, web)
    _say_scopes(request, prepared.scopes)
    talk.say(f"on any device, open {device.url} and enter the code {device.code}")
    if device.whole_url:
        talk.say(f"or open this page, which has it filled in:\n  {device.whole_url}")
    return await finish_device(prepared, device, web)


def _say_scopes(request: CommandRequest, scopes: tuple[str, ...]) -> None:
    request.talk.say(f"it asks for: {' '.join(scopes)}" if scopes else "it asks for no scopes")


def _port(given: str | None) -> int:
    if given is None:
        return 0
    if not given.isdecimal() or not 0 < int(given) <= _LAST_PORT:
        raise UsageError(f"`--port` must be a number from 1 to {_LAST_PORT}, not `{given}`")
    return int(given)


# Seeing and ending


def _status(settings: Settings, store: GrantStore, name: str, account: str) -> Report:
    if account and not name:
        raise UsageError("`NAME` is missing", "switchboard mcp auth status NAME --account A")
    servers = [_remote(settings, name)] if name else list(settings.servers)
    if account:
        servers = [_of_account(servers[0], "status", account)]
    found: list[LoginStatus] = []
    for entry in (each for server in servers for each in by_account(server)):
        if entry.transport == "stdio":
            continue
        reference = entry_reference(entry)
        grant = store.find(reference)
        if grant is not None:
            found.append(login_status(entry.name, grant))
        elif entry.auth is not None or entry.account or name or store.is_wanted(reference):
            found.append(LoginStatus(server=entry.name, account=entry.account, state="none"))
    return LoginsReport(logins=tuple(found))


async def _log_out(
    request: CommandRequest,
    settings: Settings,
    entry: ServerEntry,
    store: GrantStore,
    trail: LoginTrail,
) -> Report:
    reference = entry_reference(entry)
    grant = store.find(reference)
    if grant is None:
        return LogoutReport(server=entry.name, account=entry.account, had_login=False)
    async with store.locked(grant.reference):
        # Renewed meanwhile, maybe; what is revoked is what is there now.
        grant = store.find(reference) or grant
        store.forget(reference)
    web = GuardedWeb(rules_for(entry), request.environ)
    try:
        secret = client_secret(entry, settings, request.environ, _vaults(request))
        revoked = await end_login(grant, secret, web)
    except Fault:
        # Without its secret nobody can speak for the client.
        revoked = "failed"
    finally:
        await web.aclose()
    trail.ended(entry, grant, revoked)
    return LogoutReport(server=entry.name, account=entry.account, had_login=True, revoked=revoked)
