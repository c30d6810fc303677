"""Who may read what Pinakes writes: its owner alone, whatever the umask is."""

from __future__ import annotations

from pathlib import Path

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700


def make_private(folder: Path) -> None:
    """Make ``folder`` for its owner alone, and those above it as usual; one that is there stays as it is."""
    if folder.is_dir():
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=PRIVATE_FOLDER)
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        folder.chmod(PRIVATE_FOLDER)  # where the umask takes from the owner, too
