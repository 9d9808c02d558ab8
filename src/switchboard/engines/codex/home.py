"""The private home of one Codex: what we write into it, and what of the user's own is used.

The user's `config.toml` is not used as it is: it may name MCP servers, hooks and other programs.
Only what is needed to reach the model is carried over. Secrets that stand in it are handed on in
the environment of the process, so that no second file holds them; its shells do not get them.

The login is a link to the user's `auth.json`. Codex writes refreshed tokens through the link, into
the one file that the user's own Codex reads: a copy would hold the secret twice, and the first one
to refresh would log the other out. A key that is in the environment is told to the process once it
runs, which keeps it in its memory only.
"""

import contextlib
import os
import tempfile
from collections.abc import Mapping
from hashlib import sha256
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from switchboard.config.toml_text import TomlInvalid, read_toml
from switchboard.engines.codex.program import CodexProgram, program_state
from switchboard.engines.surroundings import DEPTH, kept_from_shells, without
from switchkit.files import make_private_folder, replace_file
from switchkit.platform.paths import true_path
from switchkit.toml.values import toml_key, toml_value

Json = dict[str, Any]

# What says how the model is reached.
_CARRIED = (
    *("model", "model_provider", "model_providers", "openai_base_url", "chatgpt_base_url"),
    *("forced_login_method", "forced_chatgpt_workspace_id", "model_catalog_json"),
    *("model_context_window", "oss_provider"),
)
# Names of variables that hold what a model must not see, whatever their case.
SECRET_NAMES = (
    *("*KEY*", "*SECRET*", "*TOKEN*", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*CREDENTIAL*"),
    *("*COOKIE*", "*BEARER*", "*_PAT", "*_DSN", "*DATABASE_URL*", "*CONNECTION_STRING*"),
    # Of these all or none: git fails where one of them is missing.
    "GIT_CONFIG_*",
    *("*PRIVATE*", "*WEBHOOK*", "SWITCHBOARD_*", "NPM_CONFIG_*AUTH*", "PGPASS*", "*_PASS"),
)
_KEYS = ("CODEX_API_KEY", "OPENAI_API_KEY")
_OPENAI = "openai"
_MOST_CONFIG = 1024 * 1024


class UserCodex(Struct, frozen=True, kw_only=True):
    """What of the user's own Codex is used."""

    home: str
    # Keys of `config.toml` that are carried over, without secrets.
    config: Json
    # Variables that stand for the secrets.
    env: dict[str, str]
    # The file of the login, if there is one.
    login: str
    # The key of the environment, where there is no such file.
    api_key: str = ""
    # Whether the login is kept by the system, for the user's own home alone.
    is_in_keyring: bool = False
    problem: str = ""

    @property
    def has_login(self) -> bool:
        """Whether a model can be reached at all: by a login, a key or a provider of their own."""
        return (
            bool(self.login or self.api_key)
            or self.config.get("model_provider", _OPENAI) != _OPENAI
        )

    @property
    def can_reach_a_model(self) -> bool:
        """Whether there is any use in trying: some addresses want no login."""
        return self.has_login or bool(self.config.get("openai_base_url"))

    def with_provider(self, name: str) -> "UserCodex":
        """The same with a provider that an agent names: Codex has one for a whole process.

        One that nobody has defined is left to Codex, which says so.
        """
        known = {_OPENAI, *cast("Json", self.config.get("model_providers") or {})}
        if name not in known or name == self.config.get("model_provider", _OPENAI):
            return self
        return replace(self, config={**self.config, "model_provider": name})


class CodexHome(Struct, frozen=True, kw_only=True):
    """A home that is ready, and the environment of the process that lives in it."""

    path: str
    env: dict[str, str]
    # What the process logs in with, if it has to.
    api_key: str = ""


def user_codex(env: Mapping[str, str]) -> UserCodex:
    """Read what the user has. Reads the disk."""
    home = env.get("CODEX_HOME") or os.path.join(env.get("HOME") or "/", ".codex")
    found, problem = _read(os.path.join(home, "config.toml"))
    config = {key: found[key] for key in _CARRIED if key in found}
    secrets: dict[str, str] = {}
    providers = config.get("model_providers")
    if isinstance(providers, dict):
        config["model_providers"] = {
            name: _without_secrets(cast("Json", provider), secrets)
            for name, provider in cast("Json", providers).items()
            if isinstance(provider, dict)
        }
    login = os.path.join(home, "auth.json")
    login = login if os.path.isfile(login) else ""
    keys = (env[name] for name in _KEYS if env.get(name))
    return UserCodex(
        home=home,
        config=config,
        env=secrets,
        login=login,
        api_key="" if login else next(keys, ""),
        is_in_keyring=found.get("cli_auth_credentials_store") in {"keyring", "auto"},
        problem=problem,
    )


def _read(path: str) -> tuple[Json, str]:
    try:
        with open(path, encoding="utf-8") as file:
            return read_toml(file.read(_MOST_CONFIG))[0], ""
    except FileNotFoundError:
        return {}, ""
    except (OSError, UnicodeDecodeError, TomlInvalid) as refused:
        return {}, f"your own config.toml of Codex cannot be read: {type(refused).__name__}"


def _without_secrets(provider: Json, secrets: dict[str, str]) -> Json:
    """A provider whose literal secrets are looked up in the environment instead."""
    kept = dict(provider)

    def stand_in(value: object) -> str:
        name = f"SWITCHBOARD_CODEX_SECRET_{len(secrets)}"
        secrets[name] = str(value)
        return name

    token = kept.pop("experimental_bearer_token", None)
    if token is not None and "env_key" not in kept:
        kept["env_key"] = stand_in(token)
    headers = kept.pop("http_headers", None)
    if isinstance(headers, dict):
        named = dict(cast("Json", kept.get("env_http_headers") or {}))
        for name, value in cast("Json", headers).items():
            named.setdefault(name, stand_in(value))
        kept["env_http_headers"] = named
    return kept


def make_home(path: str, user: UserCodex, env: Mapping[str, str], helpers: str = "") -> CodexHome:
    """Make the home, or make it anew. Writes to the disk; raises OSError."""
    make_private_folder(path)
    config: Json = {
        **user.config,
        "check_for_update_on_startup": False,
        "analytics": {"enabled": False},
        # A home that is new has none, and would load a list of them from the network each time.
        "features": {"plugins": False},
        "shell_environment_policy": {
            "inherit": "all",
            "ignore_default_excludes": False,
            "exclude": [*SECRET_NAMES, *kept_from_shells(env)],
            # Whoever calls an agent from a shell stands below this one.
            "set": {name: env[name] for name in (DEPTH,) if name in env},
        },
    }
    if user.api_key:
        config["cli_auth_credentials_store"] = "ephemeral"
    text = "".join(f"{toml_key(key)} = {toml_value(value)}\n" for key, value in config.items())
    replace_file(os.path.join(path, "config.toml"), text.encode())
    link = os.path.join(path, "auth.json")
    with contextlib.suppress(FileNotFoundError):
        os.unlink(link)
    if user.login:
        os.symlink(user.login, link)
    own = {**env, **user.env, "CODEX_HOME": path}
    if helpers:
        own["PATH"] = os.pathsep.join(filter(None, (env.get("PATH"), helpers)))
    if _is_temporary(path, env):
        # Codex puts no helpers into a home below the folder for temporary files, and then every
        # command in its sandbox fails. So it gets another such folder, beside its home.
        own["TMPDIR"] = os.path.join(os.path.dirname(path), "tmp")
        make_private_folder(own["TMPDIR"])
    return CodexHome(path=path, env=own, api_key=user.api_key)


def without_told_keys(env: Mapping[str, str], *settings: object) -> dict[str, str]:
    """The environment without the keys that are told, or not needed: any shell can read it there.

    One that the settings of a provider name is looked up by Codex itself, and has to stay.
    """
    named = msgspec.json.encode(settings).decode()
    return without(env, (name for name in _KEYS if name not in named))


def digest_of(user: UserCodex, env: Mapping[str, str], program: CodexProgram) -> str:
    """The same for homes that could take each other's place. Reads the disk; raises OSError.

    A process remembers what it read at its start. So files count by what tells one state of them
    from the next: who logs in as somebody else must not be served by a process of before.
    """
    read = (user.login, str(user.config.get("model_catalog_json") or ""))
    parts = (
        program_state(program),
        user,
        tuple(map(_file_state, read)),
        dict(sorted(env.items())),
    )
    return sha256(msgspec.json.encode(parts)).hexdigest()


def _file_state(path: str) -> tuple[int, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_mtime_ns, found.st_size


def _is_temporary(path: str, env: Mapping[str, str]) -> bool:
    folder = true_path(env.get("TMPDIR") or tempfile.gettempdir())
    return true_path(path).startswith(folder.rstrip("/") + "/")
