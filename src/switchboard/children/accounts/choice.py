"""Which account of a server a request uses."""

from collections.abc import Iterator

from msgspec import Struct

from switchboard.children.accounts.faults import no_account
from switchboard.children.accounts.git_remote import remote_of
from switchboard.children.accounts.patterns import Pattern, pattern_of
from switchboard.children.schema import ServerEntry
from switchboard.core.faults import Fault, FaultCode
from switchboard.core.sessions import ChosenAccount, Session
from switchkit.platform.paths import true_path

_NAMED = "the call names it"


class _Fitting(Struct, frozen=True):
    account: str
    pattern: Pattern


class AccountChoice:
    """Knows the accounts of one server. What a repository says is looked at for every request."""

    def __init__(self, entry: ServerEntry, home: str) -> None:
        self._entry = entry
        self._names = frozenset(each.name for each in entry.accounts)
        self._default = next((each.name for each in entry.accounts if each.default), "")
        self._patterns = tuple(
            _Fitting(each.name, pattern_of(text, home))
            for each in entry.accounts
            for text in each.match
        )
        self._asks_remote = any(each.pattern.kind == "remote" for each in self._patterns)

    def has(self, name: str) -> bool:
        """Whether there is an account of this name."""
        return name in self._names

    def choose(self, session: Session) -> ChosenAccount:
        """The account that was named, else the one of the session's workspace. Raises a fault."""
        named = session.account
        if named is None:
            return self._of_workspace(session.workspace)
        if named.name not in self._names:
            raise no_account(self._entry, named.name)
        if named.why:
            # It was chosen before, for this very request.
            return named
        try:
            usual = self._of_workspace(session.workspace).name
        except Fault:
            usual = ""
        why = f"{_NAMED}; here `{usual}` is usual" if usual not in ("", named.name) else _NAMED
        return ChosenAccount(named.name, why)

    def _of_workspace(self, workspace: str) -> ChosenAccount:
        fitting = sorted(self._fitting(workspace), key=lambda each: each.pattern.rank)
        if fitting:
            best = fitting[-1]
            for other in fitting[:-1]:
                if other.pattern.rank == best.pattern.rank and other.account != best.account:
                    raise self._ambiguous(other, best)
            return ChosenAccount(best.account, f"`{best.pattern.text}` matches")
        if self._default:
            return ChosenAccount(self._default, "it is the default")
        raise Fault(
            FaultCode.FAILED_PRECONDITION,
            "account-undecided",
            f"no account of `{self._entry.name}` matches this workspace, and none is the default",
            hint=self._naming(),
        )

    def _fitting(self, workspace: str) -> Iterator[_Fitting]:
        # Who works nowhere has the default.
        folder = true_path(workspace) if workspace else ""
        remote = remote_of(folder) if folder and self._asks_remote else ""
        for each in self._patterns:
            if each.pattern.fits(folder if each.pattern.kind == "dir" else remote):
                yield each

    def _ambiguous(self, one: _Fitting, other: _Fitting) -> Fault:
        # Folders outside of the workspace are not told to clients.
        return Fault(
            FaultCode.FAILED_PRECONDITION,
            "account-ambiguous",
            f"`{one.account}` and `{other.account}` of `{self._entry.name}` both match this"
            f" workspace, and neither of their `{other.pattern.kind}:` patterns says more",
            hint=f"make one of them longer, or {self._naming()}",
        )

    def _naming(self) -> str:
        names = ", ".join(each.name for each in self._entry.accounts)
        return f"name one with `--account` or in `_meta` as `switchboard/account`: {names}"
