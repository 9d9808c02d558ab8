"""What a command tool would run, in the words that approvals are about."""

import hashlib
import shlex

import msgspec
from msgspec.structs import replace

from switchboard.core.calls.launches import Launch
from switchboard.core.catalog.tools import ToolSpec
from switchboard.core.network.egress import reachable
from switchboard.core.privacy.redaction import redacted_text
from switchboard.core.privacy.secrets import KnownSecrets
from switchboard.providers.commands.plans import CommandContext, Plan, policy_of
from switchboard.providers.commands.schema import CommandEntry
from switchboard.sandbox.limits import limits_in_words


def standing_launch(entry: CommandEntry, tool: ToolSpec) -> Launch:
    """What is known of every call of a tool, for whoever judges it before there is one."""
    return Launch(
        tool=tool,
        server=entry.name,
        fingerprint=entry.fingerprint,
        # As it is written: places for arguments and secrets are not filled.
        runs=shlex.join((entry.command, *entry.args)),
        cwd=entry.cwd,
        is_foreign=False,
        sandbox=entry.weaker_sandbox or entry.sandbox_profile,
        network=has_network(entry),
        hosts=reachable(entry.egress, asks=entry.egress_ask),
        limits=limits_in_words(entry.limits or {}) if entry.sandbox_profile != "none" else (),
        opened_roots=entry.writable_roots,
        side_effects=entry.side_effects,
        requires_approval=entry.requires_approval,
        required_by=entry.required_by,
    )


def launch_of(plan: Plan, tool: ToolSpec, fingerprint: str, ground: CommandContext) -> Launch:
    """The launch of a plan."""
    entry, place = plan.entry, plan.place
    hide = KnownSecrets(plan.secrets)
    policy = policy_of(plan, ground)
    own = () if policy.only_reads and entry.sandbox_profile != "none" else (policy.cwd,)
    return replace(
        standing_launch(entry, tool),
        fingerprint=fingerprint,
        # With every link followed, so that what is judged is where it runs.
        cwd=policy.cwd,
        env={
            name: redacted_text(place.env[name], hide)
            for name in place.given
            if name not in place.hidden
        },
        secrets=place.hidden,
        env_hash=_digest(dict(place.env)),
        writable_roots=(*own, *policy.writable_roots),
    )


def has_network(entry: CommandEntry) -> bool:
    """Whether it may reach any host at all."""
    return entry.allow_network or bool(entry.egress) or entry.sandbox_profile == "none"


def _digest(value: dict[str, str]) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()
