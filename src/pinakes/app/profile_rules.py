"""Rules of a profile that a collection keeps, so that it has them where a command does not name the profile."""

from __future__ import annotations

from pinakes.catalog import Connection, collections
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.records import JSON
from pinakes.settings import CollectionSettings, Settings, read_profile
from pinakes.settings.kept import OF_PROFILE


class ProfileRules:
    """What the profile of the settings says of each collection. What the home itself says needs no keeping."""

    def __init__(self, settings: Settings) -> None:
        self._profile = settings.profile
        self._given: dict[str, dict[str, JSON]] = {}

    def keep(self, connection: Connection, record: CollectionRecord) -> CollectionRecord:
        """Have a collection keep what the profile says of its files and its graph."""
        if not self.are_to_keep(record):
            return record
        kept = {**(record.kept or {}), **self._of(record.name)}
        return collections.change(connection, record, description=record.description, kept=kept)

    def are_to_keep(self, record: CollectionRecord) -> bool:
        """Say whether the profile gives other rules than those that a collection keeps."""
        kept = record.kept or {}
        return any(kept.get(name) != value for name, value in self._of(record.name).items())

    def _of(self, name: str) -> dict[str, JSON]:
        if name not in self._given:
            layer = read_profile(self._profile).get("collections", {}).get(name, {}) if self._profile else {}
            rules = CollectionSettings.model_validate({key: layer[key] for key in OF_PROFILE if key in layer})
            self._given[name] = rules.model_dump(mode="json", exclude_unset=True)
        return self._given[name]
