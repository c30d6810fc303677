"""How a run treats what failed before and what is gone, and what is kept of how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from pinakes.catalog.engine import now
from pinakes.catalog.sources import FileRecord
from pinakes.core.errors import PinakesError
from pinakes.core.records import JSON, Item
from pinakes.core.schedules import pause_s
from pinakes.ingestion.report import Report
from pinakes.ingestion.shared_files import OtherSource
from pinakes.settings import SyncSettings


@dataclass(frozen=True, slots=True)
class RunOptions:
    """How one run is done.

    ``name`` is what the settings call the source, ``configured`` whether they name it at all. ``retry``: files that
    failed are tried again at once, and so are those skipped for an error whose code is ``remedied`` since.
    ``keeps_gone``: documents stay whose files are gone. ``whole``: all of the source is looked at. ``others``: sources
    of the same collection; what one of these holds is left to it.
    """

    sync: SyncSettings = field(default_factory=SyncSettings)
    name: str = ""
    configured: bool = False
    retry: bool = False
    keeps_gone: bool = False
    remedied: frozenset[str] = frozenset()
    whole: bool = True
    others: tuple[OtherSource, ...] = ()

    def is_due(self, known: FileRecord) -> bool:
        """Say whether a file that failed, or was skipped, is to be tried again now."""
        if known.status == "skipped":
            return self.retry and known.code in self.remedied
        return known.status == "error" and (self.retry or known.retry_at is None or known.retry_at <= now())

    def since(self, state: str | None, before: Mapping[str, JSON] | None) -> str | None:
        """Return as of which state changes are asked for: of none where the last run kept what this one lets go."""
        return None if (before or {}).get("keeps_gone") and not self.keeps_gone else state

    def begun(self, before: Mapping[str, JSON] | None) -> dict[str, JSON]:
        """Return what is kept of a run while it changes things: what the one before told, and that one is under way."""
        return {**(before or {}), "under_way": True}

    def left_undone(self, before: Mapping[str, JSON] | None) -> bool:
        """Say whether a run changed things and did not come to its end: what there is fits no state then."""
        return bool((before or {}).get("under_way"))

    def failed(self, item: Item, known: FileRecord | None, reason: str) -> FileRecord:
        """Return what is to be known of a file that could not be read; what it gave before stays.

        It is tried again after ``sync.retry_first_s``, then each time after twice as long; a changed one begins anew.
        """
        again = known is not None and known.status == "error" and known.fingerprint == item.fingerprint
        tries = known.tries + 1 if known is not None and again else 1
        pause = pause_s(tries, self.sync.retry_first_s, self.sync.retry_longest_s, item.path)
        at = (datetime.now(UTC) + timedelta(seconds=pause)).isoformat(timespec="milliseconds")
        digest, had = (known.content_hash, known.document_id) if known else (None, None)
        return FileRecord(item.path, item.fingerprint, digest, "error", reason, had, tries=tries, retry_at=at)

    def ended(
        self, report: Report, before: Mapping[str, JSON] | None, error: PinakesError | None = None
    ) -> dict[str, JSON]:
        """Return what is kept of a run: its counts, or why the source could not be read, and how often in a row."""
        numbers = ("added", "changed", "moved", "removed", "unchanged", "chunks", "embedded", "reused", "pending")
        kept: dict[str, JSON] = {name: getattr(report, name) for name in numbers}
        kept |= {"skipped": len(report.skipped), "failed": len(report.failed), "degraded": report.degraded}
        kept |= {"at": now(), "seconds": round(sum(report.seconds.values()), 3)}
        kept |= {"name": self.name, "configured": self.configured, "failures": 0, "error": None, "read_at": now()}
        kept["keeps_gone"] = self.keeps_gone
        if error is not None:
            failures = int((before or {}).get("failures", 0)) + 1
            told = {"code": error.code, "message": error.message, "hint": error.hint}
            kept |= {"failures": failures, "error": told, "read_at": (before or {}).get("read_at")}
            kept["keeps_gone"] = (before or {}).get("keeps_gone", False)
            kept |= {"under_way": True} if self.left_undone(before) else {}
        return kept
