"""The installed Pinakes: its version, and the command that installs the dependencies of an extra beside it."""

from __future__ import annotations

import shlex
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

NAME = "pinakes"


def install_command(extra: str) -> str:
    """Return the command that installs the dependencies of ``extra`` into the current environment.

    It names the dependencies, not Pinakes, since on a registry that name may belong to somebody else.
    """
    needed = shlex.join(_libraries(extra) or [f"{NAME}[{extra}]"])
    environment = Path(sys.prefix)
    if (environment / "pipx_metadata.json").is_file():
        return f"pipx inject {shlex.quote(environment.name)} {needed}"
    python = shlex.quote(sys.executable)
    if find_spec("pip") is None:  # as in the environments of uv
        return f"uv pip install --python {python} {needed}"
    return f"{python} -m pip install {needed}"


def installed_version() -> str:
    """Return the version that is installed now, "" where Pinakes is not installed as a package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(NAME)
    except PackageNotFoundError:
        return ""


@cache
def running_version() -> str:
    """Return the version that was installed at the first call, which a process makes when it starts."""
    return installed_version()


def outdated(served: str, other: str, what: str = "this program is") -> str:
    """Return what to do about a server of the version ``served``, "" where ``other`` is the same version."""
    if served == other:
        return ""
    return f"the server runs {served or 'an earlier version'}, {what} {other}: restart the server"


def _libraries(extra: str) -> list[str]:
    """Return the requirements of ``extra``, such as ``rapidocr>=3.4``."""
    from importlib.metadata import PackageNotFoundError, requires  # slow to import, and everything imports errors

    try:
        marked = [line.partition(";") for line in requires(NAME) or ()]
    except PackageNotFoundError:  # it is not installed as a package
        return []
    return [needed.strip() for needed, _, marker in marked if f'extra == "{extra}"' in marker.replace("'", '"')]
