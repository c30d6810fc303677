"""Which collections a call means: those it names, else the configured one, else all that the caller may use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pinakes.catalog import Catalog, collections, document_queries
from pinakes.catalog import references as documents_by
from pinakes.core import caller
from pinakes.core.records import Results
from pinakes.core.wording import counted, first_of
from pinakes.search import federated
from pinakes.search.as_of import holding
from pinakes.settings import Settings

DEFAULT: Final = "default"
"""The collection that is written to when none is named; contracts with a default use the same name."""

NO_COLLECTIONS: Final = "there are no collections yet: add documents, for example by `pinakes add PATH`"
NONE_FOR_KEY: Final = "there are none yet of the collections that this key may use"
_MOST_NAMED = 10


@dataclass(frozen=True, slots=True)
class AskedCollections:
    """The collections that a question goes to, and notes for the answer on how they were chosen."""

    names: list[str]
    notes: tuple[str, ...] = ()

    def answer(
        self, ask: Callable[[str], Results], known: federated.CollectionModels, wanted: federated.HitLimits
    ) -> Results:
        """Return one answer from all collections, as ``federated.ask_all`` does, with ``notes`` added."""
        answer = federated.ask_all(self.names, ask, known, wanted)
        return replace(answer, notes=(*answer.notes, *self.notes)) if self.notes else answer


class CollectionChoice:
    """Resolves the ``collection`` argument of a call to collection names. Safe to share between threads.

    The call's argument comes first, then the setting ``collection`` if it was given, then all collections that the
    caller may use. Writes, and operations on a single collection, use ``chosen``.
    """

    def __init__(self, settings: Settings, catalog: Catalog) -> None:
        self._settings = settings
        self._catalog = catalog
        self._known = collections.CollectionCache(catalog)

    @property
    def configured(self) -> str:
        """The collection named by the settings; "" if none is, or the caller may not use it."""
        name = self._settings.collection
        return name if "collection" in self._settings.model_fields_set and caller.current().sees(name) else ""

    @property
    def written(self) -> str:
        """The collection to write to when none is named; it need not exist yet.

        For a caller who may use only one collection, it is that one.
        """
        name, allowed = self._settings.collection, caller.current().collections
        return allowed[0] if allowed is not None and name not in allowed and len(allowed) == 1 else name

    def visible(self) -> list[str]:
        """Return the names of the collections that the caller may use, sorted."""
        return self._known.names()

    def has(self, name: str) -> bool:
        """Return whether there is a collection called ``name`` that the caller may use."""
        with self._catalog.read_each() as connection:
            return collections.find(connection, name) is not None

    def chosen(self, name: str | None = None) -> str:
        """Return the one collection that is meant: ``name``, the configured one, the only one, or ``written``."""
        named = name or self.configured
        if named or self.written in self._settings.collections:
            return named or self.written
        names = self.visible()
        return names[0] if len(names) == 1 else self.written

    def named(self, collection: str | Sequence[str] | None = None) -> list[str]:
        """Return the collections to search: "*" means all; a list, or a string with commas, names several.

        If there is no collection yet, returns the one that would be written to.
        """
        if collection:
            return federated.named(collection, self._all_names)
        return [self.configured] if self.configured else self._all_names()

    def choose(
        self, collection: str | Sequence[str] | None = None, as_of: str | None = None, *, beside: bool = False
    ) -> AskedCollections:
        """Return the collections that a question goes to, with notes if the caller named none.

        A git ref in ``as_of`` selects the collections that hold it; ``beside`` selects a single collection.

        Raises:
            InvalidInput: no collection holds the ref.
        """
        if collection or self.configured:
            return AskedCollections(self.named(collection))
        if beside:
            return AskedCollections([self.chosen()])
        every = self.named()
        names = self._holding_ref(every, as_of) if as_of and len(every) > 1 else every
        if len(names) > 1:
            return AskedCollections(names, (asked_unnamed(names),))
        return AskedCollections(
            names, (not_asked(others),) if (others := [name for name in every if name not in names]) else ()
        )

    def none_yet(self) -> str:
        """Return a note if there are no collections, or none that the caller may use; else ""."""
        if self.visible():
            return ""
        return NO_COLLECTIONS if caller.current().collections is None else NONE_FOR_KEY

    def missing(self) -> str:
        """Return a note for an empty answer: there is no collection, or the configured one does not exist.

        "" if the collections that an unnamed call uses exist.
        """
        name = self.configured
        if not name or self.has(name) or not self.visible():
            return self.none_yet()
        return f"there is no collection {name!r} yet; {not_asked(self.others([name]))}"

    def having(self, references: Sequence[str], collection: str | Sequence[str] | None = None) -> list[str]:
        """Return the collections of ``named`` with a document that ``references`` name; the first one if none has any.

        Raises:
            NotFound: a named collection does not exist.
        """
        names = self.named(collection)
        if len(names) == 1:
            return names
        with self._catalog.read() as connection:
            records = [collections.get(connection, name) for name in names]
            found = [
                one.name for one in records if any(documents_by.find(connection, one.id, each) for each in references)
            ]
        return found or names[:1]

    def others(self, names: Sequence[str]) -> list[str]:
        """Return the collections that the caller may use, without ``names``."""
        return [name for name in self.visible() if name not in names]

    def elsewhere(self, doc_ids: Sequence[str], looked_in: Sequence[str] = (), *, deleted: bool = False) -> str:
        """Return a hint naming collections not in ``looked_in`` that have documents with these ids, else "".

        ``deleted``: also name collections that had such a document.
        """
        with self._catalog.read() as connection:
            names = {one.id: one.name for one in collections.list_all(connection) if one.name not in looked_in}
            if not (names and doc_ids):
                return ""
            from pinakes.catalog import history

            found = document_queries.of_uids(connection, list(names), doc_ids)
            where = {uid: names[one.collection_id] for uid, one in found.items()}
            for uid in (one for one in doc_ids if deleted and one not in where):
                had = (name for number, name in names.items() if history.last_number(connection, number, uid))
                where[uid] = next(had, "")
        return " ".join(f"Give collection {name!r} for {uid!r}." for uid, name in where.items() if name)

    def _all_names(self) -> list[str]:
        return self.visible() or [self.configured or self.written]

    def _holding_ref(self, names: Sequence[str], as_of: str) -> list[str]:
        with self._catalog.read() as connection:
            records = [collections.get(connection, name) for name in names]
            return [one.name for one in holding(connection, records, as_of)]


def asked_unnamed(names: Sequence[str]) -> str:
    """Return the note that lists the collections asked because none was named."""
    return f"no collection was named, so {counted(len(names), 'collection')} were asked: {first_of(names, _MOST_NAMED)}"


def not_asked(names: Sequence[str]) -> str:
    """Return the note that says which collections were not asked."""
    were = "was" if len(names) == 1 else "were"
    return (
        f"{counted(len(names), 'other collection')} {were} not asked: {first_of(names, _MOST_NAMED)}; name them, or *"
    )
