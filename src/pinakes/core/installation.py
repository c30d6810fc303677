"""How this Pinakes was installed: the command that adds the libraries of an extra to the same environment."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

NAME = "pinakes"


def install_command(extra: str) -> str:
    """Return the command that installs what ``extra`` needs, where this Pinakes runs.

    It names the libraries, not Pinakes: on a registry that name may be somebody else's.
    """
    needed = shlex.join(_libraries(extra) or [f"{NAME}[{extra}]"])
    environment = Path(sys.prefix)
    if (environment / "pipx_metadata.json").is_file():
        return f"pipx inject {shlex.quote(environment.name)} {needed}"
    python = shlex.quote(sys.executable)
    if find_spec("pip") is None:  # as in the environments of uv
        return f"uv pip install --python {python} {needed}"
    return f"{python} -m pip install {needed}"


def _libraries(extra: str) -> list[str]:
    """Return what has to be installed for ``extra``, as in ``rapidocr>=3.4``."""
    from importlib.metadata import PackageNotFoundError, requires  # slow to import, and everything imports errors

    try:
        marked = [line.partition(";") for line in requires(NAME) or ()]
    except PackageNotFoundError:  # it runs without having been installed
        return []
    return [needed.strip() for needed, _, marker in marked if f'extra == "{extra}"' in marker.replace("'", '"')]
