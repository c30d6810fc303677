"""``evaluate --graph``: how well the graph has what people read in documents."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from pinakes.cli.screen import printable
from pinakes.cli.session import Session
from pinakes.core.records import JSON

_SHOWN = 20


def evaluate(session: Session, file: Path, collection: str | None) -> None:
    """Compare the graph of a collection with a file of entities and relations that people read."""
    from pinakes.evaluation.graph_quality import ALL, Rates, read_file

    wanted = read_file(file)
    with session.library() as library:
        name = library.chosen(collection)
        library.graph.update(name)
        found = library.measuring.graph(name, wanted)
    screen = session.screen

    def told(one: Rates) -> dict[str, JSON]:
        return asdict(one) | {"precision": one.precision, "recall": one.recall, "f1": one.f1}

    screen.document(
        {
            "collection": name,
            "documents": found.documents,
            "unknown": list(found.unknown),
            "entities": {kind: told(one) for kind, one in found.entities.items()},
            "relations": {kind: told(one) for kind, one in found.relations.items()},
            "listed_recall": found.listed.recall,
            "unlisted_recall": found.unlisted.recall,
            "wrong": list(found.wrong),
            "missed": list(found.missed),
        }
    )
    for title, rates in (("entities", found.entities), ("relations", found.relations)):
        screen.show(f"{title:<20} precision  recall     f1   right  wrong missed")
        for kind, one in sorted(rates.items(), key=lambda each: (each[0] == ALL, each[0])):
            between = f"  95 %: {one.interval[0]:.3f} to {one.interval[1]:.3f}" if one.interval else ""
            screen.show(
                f"  {kind:<18} {one.precision:>9.3f} {one.recall:>7.3f} {one.f1:>6.3f} "
                f"{one.right:>7,} {one.wrong:>6,} {one.missed:>6,}{between}"
            )
    screen.show(f"recall of listed entities {found.listed.recall:.3f}, of others {found.unlisted.recall:.3f}")
    for kind, lines in (("wrong", found.wrong), ("missed", found.missed)):
        screen.lines(printable(f"  {kind}: {line}") for line in lines[:_SHOWN])
        if len(lines) > _SHOWN:
            screen.show(f"  … and {len(lines) - _SHOWN:,} more {kind} ones; --json has all")
    screen.warn(*(f"no document {path!r} in collection {name!r}" for path in found.unknown))
