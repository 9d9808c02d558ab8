"""What a call to a server's tool would start or reach, for whoever has to judge it."""

import hashlib

import msgspec

from switchboard.children.accounts.faults import no_account
from switchboard.children.schema import ServerEntry, by_account
from switchboard.children.starting.containers import shown_command
from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.network.egress import reachable
from switchboard.core.origins import Origin
from switchboard.core.sessions import ChosenAccount, ChosenTree
from switchboard.sandbox.limits import limits_in_words
from switchboard.wire.messages import encode

_MOST_KEPT = 1_024


class ServerLaunches(dict[ToolSpec, Launch]):
    """The launches of one server, by the very definition: one that the server changes gets another.

    A mapping, so that a call of a known tool costs a look and nothing more.
    """

    def __init__(
        self,
        entry: ServerEntry,
        cwd: str,
        account: ChosenAccount | None = None,
        tree: ChosenTree | None = None,
    ) -> None:
        """`cwd` is where its process really runs: one that workspaces share is in none of them."""
        super().__init__()
        self._tree = tree
        self._account = account
        self._by_account: dict[ChosenAccount, ServerLaunches] = {}
        self._entry = entry
        self._cwd = cwd
        stated = encode(msgspec.structs.replace(entry, origin=Origin()))
        self._fingerprint = entry.fingerprint or hashlib.sha256(stated).hexdigest()
        # The fingerprint of one of a workspace is bound to its files, unless its user writes them.
        is_bound = entry.fingerprint and not (entry.seal is not None and entry.seal.is_dev)
        is_loose = entry.transport == "stdio" and not is_bound
        self._words = (entry.command, *entry.args) if is_loose else ()
        self._env_hash = hashlib.sha256(encode(sorted(entry.env.items()))).hexdigest()

    def of_account(self, account: ChosenAccount) -> "ServerLaunches":
        """Those that use the login of one account. Raises a fault when there is none of it."""
        known = self._by_account.get(account)
        if known is None:
            for entry in by_account(self._entry):
                if entry.account == account.name:
                    known = self._by_account[account] = ServerLaunches(entry, self._cwd, account)
                    return known
            raise no_account(self._entry, account.name)
        return known

    def __missing__(self, tool: ToolSpec) -> Launch:
        return self.named(tool, tool.name)

    def named(self, tool: ToolSpec, own_name: str) -> Launch:
        """The launch of a tool that the server calls by a name of its own."""
        if tool in self:
            return self[tool]
        if len(self) >= _MOST_KEPT:
            self.clear()
        entry = self._entry
        launch = self[tool] = Launch(
            tool=tool,
            server=entry.name,
            own_name=own_name,
            fingerprint=self._fingerprint,
            runs=entry.url or shown_command(entry),
            words=self._words,
            account=entry.account,
            account_why=self._account.why if self._account is not None else "",
            cwd=self._cwd,
            is_own_folder=not entry.url and bool(self._cwd) and self._cwd != entry.cwd,
            worktree=self._tree.name if self._tree is not None else "",
            worktree_why=self._tree.why if self._tree is not None else "",
            env=entry.env,
            secrets=(*entry.secret_env, *entry.headers),
            env_hash=self._env_hash,
            sandbox=_sandbox(entry),
            network=entry.allow_network or bool(entry.egress) or entry.sandbox_profile == "none",
            hosts=reachable(entry.egress, asks=entry.egress_ask),
            limits=limits_in_words(entry.limits or {}) if entry.sandbox_profile != "none" else (),
            writable_roots=entry.writable_roots,
            configured_by=entry.origin.scope,
            declares_network=entry.allow_network or bool(entry.egress),
            trusts_annotations=entry.trust_annotations,
        )
        return launch


def _sandbox(entry: ServerEntry) -> str:
    """The sandbox as people are told of it."""
    profile = entry.weaker_sandbox or entry.sandbox_profile
    if entry.sandbox_profile == "none" or not entry.sandbox_features:
        return profile
    return f"{profile} for a {', '.join(entry.sandbox_features)}"
