"""What `switchboard mcp auth` answers: logins without their tokens."""

import shlex
from collections.abc import Iterator

from switchboard.cli.render import hint
from switchboard.cli.report import DONE, FAILED, Report
from switchboard.cli.verbs.parts.auth.login_table import login_rows, when
from switchboard.control.status import LoginStatus
from switchboard.oauth.ending import Revoked
from switchkit.cli.style import Style


class LoginReport(Report, frozen=True, kw_only=True, tag="switchboard.login/1"):
    """A login that was made."""

    login: LoginStatus

    def lines(self, style: Style) -> Iterator[str]:
        login = self.login
        yield style.green(f"logged in to {_named(login.server, login.account)}")
        yield f"issuer   {login.issuer}"
        yield f"scopes   {' '.join(login.scopes) or '-'}"
        yield f"expires  {when(login.expires_at)}{', and is renewed' if login.renews else ''}"

    def notes(self, style: Style) -> Iterator[str]:
        if not self.login.renews and self.login.expires_at:
            yield "the server gave nothing to renew this login with: it ends when it expires"
        del style


class LoginsReport(Report, frozen=True, kw_only=True, tag="switchboard.logins/1"):
    """The logins at remote servers."""

    logins: tuple[LoginStatus, ...]

    def exit_code(self) -> int:
        return FAILED if any(each.state in ("over", "none") for each in self.logins) else DONE

    def lines(self, style: Style) -> Iterator[str]:
        yield from login_rows(self.logins, style)

    def notes(self, style: Style) -> Iterator[str]:
        if not self.logins:
            yield "no remote server wants a login"
        for each in self.logins:
            if each.last_error:
                who = _named(each.server, each.account)
                yield f"{who}: {each.last_error} ({when(each.failed_at)})"
            if each.state in ("over", "none"):
                account = f" --account {each.account}" if each.account else ""
                yield hint(style, f"switchboard mcp auth login {shlex.quote(each.server)}{account}")


class LogoutReport(Report, frozen=True, kw_only=True, tag="switchboard.logout/1"):
    """A login that was ended."""

    server: str
    account: str = ""
    had_login: bool
    revoked: Revoked = ""

    def lines(self, style: Style) -> Iterator[str]:
        del style
        if not self.had_login:
            yield f"nobody was logged in to {_named(self.server, self.account)}"
        else:
            yield f"logged out of {_named(self.server, self.account)}"

    def notes(self, style: Style) -> Iterator[str]:
        del style
        if self.revoked == "failed":
            yield "the tokens are forgotten here; the server could not be told to end them"
        elif self.revoked == "not-offered":
            yield "the tokens are forgotten here; the server offers no way to end them before time"


def _named(server: str, account: str) -> str:
    return f"{server} as {account}" if account else server
