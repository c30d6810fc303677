"""``python -m benchmarks.quality.graph_entities [SET …]``: entities and relations of the handbook, and each source.

Sets: ``given`` (the 20 documents of the shared data), ``development`` and ``held-out`` (12 documents each, beside this
file). The latter were drawn by chance from departments like those of the given ones, from pages that name at least four
vendors or teams (10 each), or two people (2 each); they were read and annotated before any extractor saw them, by one
annotator who had read the given ones. Rules are made with the first two; of ``held-out`` look at figures only.

A line each: with a list file as an administrator keeps it, without it, and without any listed name; then the first
without one source of names at a time, or with ``--ablation`` only. Intervals are of F1, 95 %, bootstrap over documents.
The handbook is read into a home without a model of meaning.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.quality.sets import DATA, ROOT, available
from pinakes.catalog import entities
from pinakes.core.graph_records import folded
from pinakes.evaluation.graph_quality import ALL, GraphQuality, Rates, measure, read_file
from pinakes.extraction import Extraction, Listing
from pinakes.extraction.gazetteer import read_list
from pinakes.graph import following
from pinakes.library import Library
from pinakes.settings import GraphRules

HERE = Path(__file__).parent
SETS = {
    "given": DATA / "handbook" / "entities.jsonl",
    "development": HERE / "handbook-entities-development.jsonl",
    "held-out": HERE / "handbook-entities-held-out.jsonl",
}
LISTS = DATA / "handbook" / "entity_lists.json"
Change = Callable[[GraphRules], GraphRules]


def each_type(**fields: object) -> Change:
    """Return a change of rules: every type gets ``fields``."""

    def change(rules: GraphRules) -> GraphRules:
        kinds = {name: one.model_copy(update=fields) for name, one in rules.types.items()}
        return rules.model_copy(update={"types": kinds})

    return change


def every(**fields: object) -> Change:
    """Return a change of rules: they get ``fields``."""
    return lambda rules: rules.model_copy(update=fields)


SOURCES: dict[str, Change] = {
    "candidates": every(candidates=False),
    "names of the profile": each_type(names={}),
    "records (team.yml)": every(records=()),
    "words beside names": each_type(before=(), behind=(), ends=(), suffixes=()),
    "links": each_type(domains=False, links=()),
    "headings, lists, titles": each_type(headings=(), titles=()),
    "columns of tables": each_type(columns=()),
    "nouns (X is a tool)": each_type(says=()),
    "given names": each_type(given_names=False),
    "patterns": every(patterns=()),
    "metadata, paths": every(metadata=(), documents=()),
}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["given", "development"], help=", ".join(SETS))
    parser.add_argument(
        "--work",
        type=Path,
        default=ROOT / "benchmarks" / "results" / "quality",
        help="where corpora and homes are kept",
    )
    parser.add_argument("--ablation", action="store_true", help="leave out one source of names at a time, too")
    parser.add_argument("--kinds", action="store_true", help="show each type")
    parser.add_argument("--cases", action="store_true", help="show what is wrong and missed")
    arguments = parser.parse_args()
    if not LISTS.is_file():
        print(f"no entities of the handbook in {DATA}")
        return
    home = arguments.work / "homes" / "handbook-graph"
    with Library.open(home, profile="handbook", embedding__provider="deterministic") as library:
        library.add(
            str(
                next(one for one in available() if one.name == "handbook").documents(
                    arguments.work / "corpora" / "handbook"
                )
            )
        )
        rules = library.app.graphs.of(library.app.record("handbook")).extraction
        assert rules is not None
        for name, extraction in variants(rules.rules, rules.listings, ablation=arguments.ablation):
            with library.app.catalog.write() as connection:
                entities.forget(connection, library.app.record("handbook").id)
            began = time.process_time()
            following.follow(library.app.catalog, library.app.record("handbook"), extraction)
            spent = time.process_time() - began
            for wanted in arguments.sets:
                found = measured(library, extraction, SETS[wanted])
                show(f"{name}", wanted, found, spent)
                if arguments.kinds:
                    show_kinds(found)
                if arguments.cases:
                    print(*(f"    wrong: {one}" for one in found.wrong), sep="\n")
                    print(*(f"    missed: {one}" for one in found.missed), sep="\n")


def variants(rules: GraphRules, profile: list[Listing], *, ablation: bool) -> Iterator[tuple[str, Extraction]]:
    """Yield name and extraction of each line."""
    given = read_list(LISTS)
    yield "with the lists", Extraction(rules, [*given, *profile])
    yield "without the lists", Extraction(rules, profile)
    yield "without any list", Extraction(SOURCES["names of the profile"](rules))
    if ablation:
        for name, change in SOURCES.items():
            changed = change(rules)
            kept = [] if name == "names of the profile" else profile
            yield f"- {name}", Extraction(changed, [*given, *kept])


def measured(library: Library, extraction: Extraction, file: Path) -> GraphQuality:
    """Compare the graph with a set."""
    names = frozenset(
        (one.entity.type, folded(name)) for one in extraction.listings for name in (one.entity.name, *one.aliases)
    )
    symmetric = frozenset(rule.type for rule in extraction.rules.relations if rule.symmetric)
    record = library.app.record("handbook")
    with library.app.catalog.read() as connection:
        return measure(connection, record.id, read_file(file), names, symmetric)


def show(name: str, wanted: str, found: GraphQuality, spent: float) -> None:
    """Print a line."""

    def figures(one: Rates) -> str:
        low, high = one.interval or (0, 0)
        return f"{one.precision:.3f}/{one.recall:.3f} F1 {one.f1:.3f} [{low:.3f}, {high:.3f}]"

    print(
        f"{name:<26}{wanted:<12} entities {figures(found.entities[ALL])} listed {found.listed.recall:.3f} others "
        f"{found.unlisted.recall:.3f}  relations {figures(found.relations[ALL])}  {spent:.1f} s",
        flush=True,
    )


def show_kinds(found: GraphQuality) -> None:
    """Print a line for each type."""
    for title, rates in (("entities", found.entities), ("relations", found.relations)):
        for kind, one in rates.items():
            if kind != ALL:
                counts = f"{one.right:>4} right {one.wrong:>4} wrong {one.missed:>4} missed"
                print(f"    {title:<10}{kind:<18}{one.precision:.3f}/{one.recall:.3f}  {counts}", flush=True)


if __name__ == "__main__":
    main()
