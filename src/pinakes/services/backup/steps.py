"""What the reading and writing of archives have in common: progress, and room on the disk."""

from __future__ import annotations

import shutil
from pathlib import Path

from pinakes.core.errors import StorageFull
from pinakes.core.step_reports import OnStep as OnStep
from pinakes.core.step_reports import ignore_step as ignore_step
from pinakes.platform.archives import ArchiveReader


def check_room(folder: Path, archive: ArchiveReader, what: str) -> None:
    """Make sure that ``what`` is in an archive fits on the disk of ``folder``.

    Raises:
        StorageFull: it does not.
    """
    free = shutil.disk_usage(folder).free
    if free < archive.bytes:
        raise StorageFull(f"{what} holds {archive.bytes:,} bytes, {free:,} are free.", hint="Free disk space.")
