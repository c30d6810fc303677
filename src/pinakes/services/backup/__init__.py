"""Collections and homes as files. The archive of a collection: see ``archive_format``."""

from __future__ import annotations

from functools import partial

from pinakes.app import App
from pinakes.services.backup.backups import back_up
from pinakes.services.backup.exporting import export
from pinakes.services.backup.importing import take_in


class BackupService:
    """Writes collections of a home to files, takes in others, and backs up all of it. Safe to share between threads."""

    def __init__(self, app: App) -> None:
        self.back_up = partial(back_up, app)
        self.export = partial(export, app)
        self.take_in = partial(take_in, app)
