"""Where the package runners of a sandbox keep what they have fetched, to fetch it once."""

import os
from collections.abc import Collection, Mapping

# In a home that is empty at each start they would fetch everything anew.
_FOLDERS = {
    "npm_config_cache": "npm",
    "UV_CACHE_DIR": "uv",
    "UV_TOOL_DIR": "uv-tools",
    "UV_PYTHON_INSTALL_DIR": "uv-python",
}


def with_caches(env: Mapping[str, str], folder: str, declared: Collection[str]) -> dict[str, str]:
    """An environment whose package runners use a folder, apart from what an entry declares.

    What was inherited leads to a folder of the home, which does not show inside.
    """
    chosen = {name.lower() for name in declared}
    own = {name: at for name, at in _FOLDERS.items() if name.lower() not in chosen}
    # npm takes its variables in capitals too.
    replaced = {name.lower() for name in own}
    kept = {name: value for name, value in env.items() if name.lower() not in replaced}
    return kept | {name: os.path.join(folder, at) for name, at in own.items()}
