"""The graph in PostgreSQL, and writers that meet one new name."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from pinakes.catalog import Catalog, collections, documents
from pinakes.catalog.documents import NewDocument
from pinakes.core.graph_records import EntityName
from pinakes.core.records import Document
from pinakes.extraction import Extraction, Listing
from pinakes.graph.feeding import GraphFeed
from pinakes.graph.following import follow
from pinakes.library import Library
from pinakes.settings import CatalogSettings, GraphRules, Settings
from pinakes.testing import write_files


def test_ten_writers_of_one_new_name_neither_wait_for_ever_nor_lose_a_mention(new_database: Callable[[], str]) -> None:
    rules = GraphRules.model_validate({"types": {"VENDOR": {}}})
    extraction = Extraction(rules, [Listing(EntityName("VENDOR", name), ()) for name in ("Acme", "Globex", "Initech")])
    feed = GraphFeed(extraction)
    with closing(Catalog.of(Settings(catalog=CatalogSettings(url=new_database())))) as catalog:
        with catalog.write() as connection:
            record = collections.ensure(connection, "kept", "")

        def write(number: int) -> None:
            for each in range(5):
                path = f"{number}-{each}.md"
                names = "Acme Globex Initech" if number % 2 else "Initech Globex Acme"
                new = feed.read(NewDocument(path, path, Document(f"{names} met."), (), path, path, {}))
                feed.name(catalog, record.id, [new])
                with catalog.write() as connection:
                    documents.add(connection, record.id, new)

        with ThreadPoolExecutor(10) as pool:
            list(pool.map(write, range(10)))
        assert follow(catalog, record, extraction)
        with catalog.read() as connection:
            rows = connection.exec_driver_sql(
                "SELECT entity_name, documents, mentions, metadata FROM knowledge_entities ORDER BY entity_name"
            ).all()
            assert [tuple(row[:3]) for row in rows] == [("Acme", 50, 50), ("Globex", 50, 50), ("Initech", 50, 50)]
            assert rows[0][3]["canonical"] == "Acme"
            assert connection.exec_driver_sql("SELECT count(*) FROM entity_relationships").scalar() == 0


def test_experts_impact_files_the_report_and_the_past_are_the_same_as_in_sqlite(
    new_database: Callable[[], str], tmp_path: Path
) -> None:
    graph = {
        "types": {"VENDOR": {"merge": True, "names": {"Acme": ["Acme Corp"], "Globex": [], "Initech": []}}},
        "relations": [{"type": "WORKS_WITH", "patterns": ["{source} works with {targets}"]}],
    }
    told = [_told(tmp_path / str(number), graph, url) for number, url in enumerate(("", new_database()))]
    assert told[0] == told[1]
    assert told[0]["experts"] == [("Ann", 1, 1)]
    assert told[0]["past"] == [("Acme", "Globex", "Acme Corp works with Globex.")]


def _told(home: Path, graph: dict[str, Any], url: str) -> dict[str, Any]:
    """Return what a home says whose catalogue is in PostgreSQL, where there is a ``url``, else in SQLite."""
    settings = {"catalog__url": url} if url else {}
    rules = {"kept": {"graph": graph}}
    with Library.open(home, embedding__provider="deterministic", collections=rules, **settings) as library:
        put = library.documents.put
        first = put("Acme Corp works with Globex.", title="First", collection="kept", metadata={"authors": ["Ann"]})
        put("Initech is alone.", title="Second", collection="kept")
        found = library.graph
        acme = found.one("Acme")
        told: dict[str, Any] = {
            "experts": [(one.name, one.wrote, one.mentions) for one in found.experts(acme).experts],
            "impact": [(one.title, one.link, one.relations, one.text) for one in found.impact(acme).documents],
        }
        for form in ("graphml", "jsonld"):
            told[form] = len("".join(found.export("kept", form)).splitlines())  # type: ignore[arg-type]
        edges = ElementTree.fromstring("".join(found.export("kept"))).findall(".//{*}edge")
        told["words"] = [[one.text for one in edge if "words" in one.attrib["key"]] for edge in edges]
        report = found.report("kept")
        told["report"] = (report.entities, report.orphans, report.duplicates.pairs, report.several_types)
        library.documents.update(first.document.uid, text="Acme is alone.", collection="kept")
        past = found.as_of(found.one("Acme"), first.document.updated_at)
        told["past"] = [(one.source.name, one.target.name, one.evidence[0].text) for one in past.relations]
        return told


def test_a_search_goes_on_to_the_same_tied_documents_as_in_sqlite(
    new_database: Callable[[], str], tmp_path: Path
) -> None:
    pages = {
        "wages.md": "# Wages\n\nThe tool for wages is explained [here](payroll.md) by Acme.\n",
        "payroll.md": "# Payroll\n\nOvertime is entered by Friday.\n",
        "acme.md": "# Vendors\n\nAcme sends bills.\n",
        **{f"page{number}.md": f"# Page {number}\n\nSoup of day {number}.\n" for number in range(20)},
    }
    (tmp_path / "pages").mkdir()
    rules = {"kept": {"graph": {"types": {"VENDOR": {"names": {"Acme": []}}}, "links": True}}}
    found = []
    for number, url in enumerate(("", new_database())):
        settings = {"catalog__url": url} if url else {}
        home = tmp_path / str(number)
        with Library.open(home, embedding__provider="deterministic", collections=rules, **settings) as library:
            library.add(str(write_files(tmp_path / "pages", pages)), "kept")
            answer = library.search("tool for wages", "kept", mode="keyword", top_k=1, expand=2)
            found.append([(hit.path, hit.relationship_path) for hit in answer.hits])
    assert {path for path, _ in found[0]} == {"wages.md", "payroll.md", "acme.md"}
    assert [path for path, _ in found[0]] == [path for path, _ in found[1]]
    assert [[step.relation for step in way] for _, way in found[0]] == [
        [step.relation for step in way] for _, way in found[1]
    ]
