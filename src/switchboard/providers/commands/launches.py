"""What a call of a command tool would run, in the words that approvals are about."""

import hashlib

import msgspec

from switchboard.core.launches import Launch
from switchboard.core.privacy.redaction import redacted_text
from switchboard.core.privacy.secrets import KnownSecrets
from switchboard.core.tools import ToolSpec
from switchboard.providers.commands.plans import CommandContext, Plan, policy_of
from switchboard.providers.commands.static_launch import has_network, runs_of


def launch_of(plan: Plan, tool: ToolSpec, fingerprint: str, ground: CommandContext) -> Launch:
    """The launch of a plan."""
    entry, place = plan.entry, plan.place
    hide = KnownSecrets(plan.secrets)
    policy = policy_of(plan, ground)
    own = () if policy.only_reads and entry.sandbox_profile != "none" else (policy.cwd,)
    return Launch(
        tool=tool,
        server=entry.name,
        fingerprint=fingerprint,
        runs=runs_of(entry),
        # With every link followed, so that what is judged is where it runs.
        cwd=policy.cwd,
        is_foreign=False,
        env={
            name: redacted_text(place.env[name], hide)
            for name in place.given
            if name not in place.hidden
        },
        secrets=place.hidden,
        env_hash=_digest(dict(place.env)),
        sandbox=entry.sandbox_profile,
        network=has_network(entry),
        writable_roots=(*own, *policy.writable_roots),
        opened_roots=entry.writable_roots,
        side_effects=entry.side_effects,
        requires_approval=entry.requires_approval,
        required_by=entry.required_by,
    )


def _digest(value: dict[str, str]) -> str:
    return hashlib.sha256(msgspec.json.encode(value, order="sorted")).hexdigest()
