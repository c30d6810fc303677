"""Collections and homes as files: ``form`` is what stands in the archive of a collection, the others write and read it.

What a library holds of this is ``BackupService``; the work is loaded when it is first done.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pinakes.app import App
from pinakes.services.backup.steps import OnStep, ignore_step

if TYPE_CHECKING:
    from pinakes.services.backup.backups import BackedUp
    from pinakes.services.backup.exporting import Exported
    from pinakes.services.backup.importing import Imported


class BackupService:
    """Writes collections of a home to files, takes in others, and backs up all of it. Safe to share between threads."""

    def __init__(self, app: App) -> None:
        self._app = app

    def export(
        self,
        collection: str,
        file: Path | str,
        *,
        history: bool = False,
        force: bool = False,
        on_step: OnStep = ignore_step,
    ) -> Exported:
        """Write a collection to ``file``: see ``exporting.export``, also for the errors."""
        from pinakes.services.backup.exporting import export

        return export(self._app, collection, Path(file), history=history, force=force, on_step=on_step)

    def take_in(
        self,
        file: Path | str,
        name: str | None = None,
        *,
        sources: bool = True,
        embed_anew: bool = False,
        on_step: OnStep = ignore_step,
    ) -> Imported:
        """Make the collection that ``file`` holds: see ``importing.take_in``, also for the errors."""
        from pinakes.services.backup.importing import take_in

        return take_in(self._app, Path(file), name, sources=sources, embed_anew=embed_anew, on_step=on_step)

    def back_up(
        self, place: Path | str, *, with_index: bool = False, force: bool = False, on_step: OnStep = ignore_step
    ) -> BackedUp:
        """Write the home to a file, or into a folder: see ``backups.back_up``, also for the errors."""
        from pinakes.services.backup.backups import back_up

        return back_up(self._app, Path(place), with_index=with_index, force=force, on_step=on_step)
