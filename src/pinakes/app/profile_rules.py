"""Rules of a profile that a collection keeps, so that it has them where a command does not name the profile."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from pinakes.catalog import Connection, collections
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import InvalidName
from pinakes.core.records import JSON
from pinakes.settings import CollectionSettings, Settings, own_rules, profiles, read_profile
from pinakes.settings.kept import KEPT, OF_PROFILE


class ProfileRules:
    """What the profile of the settings says of each collection. What the home itself says needs no keeping."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._given: dict[tuple[str, str, bool], Mapping[str, JSON]] = {}

    def keep(self, connection: Connection, record: CollectionRecord) -> CollectionRecord:
        """Have a collection keep what the profile says of its files and its graph."""
        if not self.are_to_keep(record):
            return record
        others = {name: value for name, value in (record.kept or {}).items() if name != "profile"}
        kept = {**others, **self._of(record)}
        return collections.change(connection, record, description=record.description, kept=kept)

    def are_to_keep(self, record: CollectionRecord) -> bool:
        """Say whether the profile gives other rules than those that a collection keeps."""
        return _differs(self._of(record), record)

    def outdated(self, record: CollectionRecord) -> str:
        """Return the shipped profile whose rules a collection keeps as they were in another version; "" elsewhere."""
        profile = str((record.kept or {}).get("profile", ""))
        if not profile or self._named(record):
            return ""
        with suppress(InvalidName):  # shipped no more
            return profile if _differs(self._rules(profile, record.name, is_own=True), record) else ""
        return ""

    def _of(self, record: CollectionRecord) -> Mapping[str, JSON]:
        profile = self._named(record)
        if not profile:
            return {}
        given = self._settings.collections.get(record.name)
        is_own = profile in (given.profile if given else "", (record.kept or {}).get("profile"))
        found = dict(self._rules(profile, record.name, is_own=is_own))
        if found.get("min_text_chars") not in (None, self._settings.ingest.min_text_chars):
            del found["min_text_chars"]  # the home has another
        return found

    def _named(self, record: CollectionRecord) -> str:
        """Return the profile that the settings name for a collection, or for all."""
        given = self._settings.collections.get(record.name)
        return (given.profile if given else "") or self._settings.profile

    def _rules(self, profile: str, name: str, *, is_own: bool) -> Mapping[str, JSON]:
        if (profile, name, is_own) not in self._given:
            self._given[profile, name, is_own] = _rules(profile, name, is_own=is_own)
        return self._given[profile, name, is_own]


def _differs(rules: Mapping[str, JSON], record: CollectionRecord) -> bool:
    kept = record.kept or {}
    return any(kept.get(name) != value for name, value in rules.items())


def _rules(profile: str, name: str, *, is_own: bool) -> Mapping[str, JSON]:
    """Return what a profile says of a collection, in the form in which it is kept; nothing where it does not name it.

    ``is_own``: one that it does not name has the rules of its own collection, with those that need the profile else.
    """
    found = read_profile(profile)
    layer = found.get("collections", {}).get(name)
    kept = OF_PROFILE if layer is not None else (*KEPT, *OF_PROFILE)
    if layer is None and is_own:
        layer = own_rules(found)
    if not layer:
        return {}
    least = {"min_text_chars": found["ingest"]["min_text_chars"]} if "min_text_chars" in found.get("ingest", {}) else {}
    shipped = {"profile": profile} if profile in profiles() else {}
    given = {**least, **{key: layer[key] for key in dict.fromkeys(kept) if key in layer}, **shipped}
    return CollectionSettings.model_validate(given).model_dump(mode="json", exclude_unset=True)
