"""Which variables of an environment travel, and which never do."""

import os

# What a program needs to run at all; nothing that could carry a secret.
BASE_NAMES = (
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LC_ALL",
    "TERM",
    "TZ",
    "TMPDIR",
    "TMP",
    "TEMP",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)

# Which certificates programs believe. Each names a file or a folder, and holds no secret.
CERTIFICATE_NAMES = (
    "NODE_EXTRA_CA_CERTS",
    "NODE_USE_SYSTEM_CA",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "PIP_CERT",
    "AWS_CA_BUNDLE",
    "DENO_CERT",
    "DENO_TLS_CA_STORE",
    "CARGO_HTTP_CAINFO",
    "HTTPLIB2_CA_CERTS",
    "NIX_SSL_CERT_FILE",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE",
)
# Where settings, caches, a desktop, clusters and containers are: places too.
PLACE_NAMES = (
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_HOME",
    "XDG_DATA_DIRS",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "DISPLAY",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "KUBECONFIG",
    "AWS_PROFILE",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "DOCKER_HOST",
    "DOCKER_CONTEXT",
)

# What a hello carries. A child of the daemon has no terminal, and what kind of terminal each window
# is would keep sessions apart that are alike in everything else.
_SPARSE = tuple(name for name in BASE_NAMES if name != "TERM")
HELLO_NAMES = (*_SPARSE, *CERTIFICATE_NAMES, *PLACE_NAMES)
# In `need`: every variable whose name begins so.
FAMILY_END = "*"

# What opens and speaks for a whole team. No program that Switchboard starts has any use for it,
# whatever else of the environment it is given.
TEAM_SECRETS = frozenset(
    {
        *("SWITCHBOARD_TEAM_KEY", "SWITCHBOARD_TEAM_KEY_FILE", "SWITCHBOARD_DB"),
        *("SWITCHBOARD_TOKEN", "SWITCHBOARD_METRICS_TOKEN"),
    }
)

# The mark of the board that a process was started for: it finds the way back to it by that alone.
BOARD_VARIABLE = "SWITCHBOARD_BOARD"
# How many runs of agents stand above a process.
DEPTH_VARIABLE = "SWITCHBOARD_DEPTH"
# They say where a process stands, and sessions that differ in nothing else are alike.
OF_ONE_PROCESS = (BOARD_VARIABLE, DEPTH_VARIABLE)
_MOST_DIGITS = 3

# What a daemon is started with. Its sessions bring their own environment along.
_DAEMON_NAMES = (
    *_SPARSE,
    "SWITCHBOARD_DAEMON_IDLE_MS",
    # The way to the keychain of the desktop, which may have the key of the vault.
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
)
# The daemon has to be made of the very code that its shim is made of, wherever that was found.
_CODE = "PYTHONPATH"
_DAEMON_STARTS = ("OTEL_",)


def hello_environment(environ: "dict[str, str]") -> "dict[str, str]":
    """The part of a client's environment that its hello carries."""
    return {name: environ[name] for name in HELLO_NAMES if name in environ}


def chosen(environ: "dict[str, str]", wanted: "list[str]") -> "dict[str, str]":
    """The variables of these names, and those of the families that are named with a `*`."""
    starts = tuple(each[:-1] for each in wanted if each.endswith(FAMILY_END))
    names = set(wanted)
    return {
        name: value
        for name, value in environ.items()
        if (name in names or name.startswith(starts)) and name not in OF_ONE_PROCESS
    }


def depth_of(environ: "dict[str, str]") -> int:
    """How many runs of agents stand above a process with this environment."""
    text = environ.get(DEPTH_VARIABLE, "").strip()
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else 0


def daemon_environment(environ: "dict[str, str]", home: str) -> "dict[str, str]":
    """What to start a daemon with."""
    kept = {
        name: value
        for name, value in environ.items()
        if name in _DAEMON_NAMES or name.startswith(_DAEMON_STARTS)
    }
    if environ.get(_CODE):
        # It runs in another directory, where a relative path would mean another folder.
        folders = filter(None, environ[_CODE].split(os.pathsep))
        kept[_CODE] = os.pathsep.join(map(os.path.abspath, folders))
    return {**kept, "SWITCHBOARD_HOME": home}
