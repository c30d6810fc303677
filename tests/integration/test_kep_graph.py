"""The graph of the real proposals, against their kep.yaml files as they are read here."""

from __future__ import annotations

import os
import re
import tarfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path, PurePosixPath
from typing import Any

import pytest
import yaml
from rapidfuzz.distance import Indel

from pinakes.core.graph_records import folded
from pinakes.library import Library

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("PINAKES_TEST_DATA") or ROOT.parent / "shared" / "data")
NOTHING = {"n/a", "na", "none", "null", "tbd", "todo", ""}
REFERENCES = {"see-also": "SEE_ALSO", "replaces": "REPLACES", "superseded-by": "REPLACES"}


@dataclass
class Proposal:
    """A kep.yaml: every value is text."""

    folder: str
    held: dict[str, Any]

    @property
    def digits(self) -> str:
        return self.folder.rpartition("/")[2].partition("-")[0]

    @property
    def slug(self) -> str:
        return self.folder.rpartition("/")[2].partition("-")[2]

    @property
    def name(self) -> str:
        return f"KEP-{int(self.digits)}" if int(self.digits) else self.slug

    def texts(self, key: str) -> list[str]:
        value = self.held.get(key) or []
        every = [value] if isinstance(value, str) else value
        plain = [" ".join(one.split()) for one in every if isinstance(one, str)]
        return [one for one in plain if one.casefold().strip(".-") not in NOTHING]


@dataclass
class Snapshot:
    proposals: list[Proposal]
    library: Library
    edges: set[tuple[str, str, str]] = field(default_factory=set)


@pytest.fixture(scope="module")
def keps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Snapshot]:
    if not (DATA / "keps" / "keps.tar.gz").is_file():
        pytest.skip(f"{DATA / 'keps'} is not there; set PINAKES_TEST_DATA")
    folder = tmp_path_factory.mktemp("proposals")
    with tarfile.open(DATA / "keps" / "keps.tar.gz") as archive:
        archive.extractall(folder, [one for one in archive if one.name.endswith("/kep.yaml")], filter="data")
    proposals = [
        Proposal(
            str(PurePosixPath(path.parent.relative_to(folder / "keps"))), yaml.load(path.read_text(), yaml.BaseLoader)
        )
        for path in sorted((folder / "keps").rglob("kep.yaml"))
        if re.match(r"\d", path.parent.name)
    ]
    home = tmp_path_factory.mktemp("home")
    with Library.open(
        home, embedding__provider="deterministic", profile="kep", cache=str(home / "cache"), ingest__min_text_chars=1
    ) as library:
        library.add(str(folder / "keps"))
        found = Snapshot(proposals, library)
        for entity in library.graph.top("keps", ["KEP"], limit=5000):
            for one in library.graph.relations(entity, limit=5000).relations:
                found.edges.add((one.source.name, one.type, one.target.name))
        yield found


def meant(reference: str, proposals: list[Proposal]) -> str:
    """Return the name that a reference should have: a proposal by its folder, number or issue, or as it is written."""
    last = [one for one in reference.split("/") if one][-1]
    for part in reference.split("/"):
        digits, dash, slug = part.partition("-")
        if dash and slug and digits.isdecimal() and len(digits) <= 5:
            return f"KEP-{int(digits)}" if int(digits) else re.match(r"[\w-]*", slug)[0]  # type: ignore[index]
    if found := re.search(r"\bkep[-# ]?(\d{1,5})\b", reference, re.IGNORECASE):
        return f"KEP-{int(found[1])}"
    if found := re.fullmatch(r"#?(\d{1,5})", reference) or re.search(
        r"kubernetes/enhancements/issues/(\d+)", reference
    ):
        return f"KEP-{int(found[1])}"
    if reference.lstrip("/").startswith(("keps/", "kep/")) and last.removesuffix(".yaml").isdecimal():
        return f"KEP-{int(last.removesuffix('.yaml'))}"
    if found := re.fullmatch(r"\d{8}-([\w-]+)(?:\.md)?", last):
        same = [one.name for one in proposals if folded(one.slug) == folded(found[1])]
        return same[0] if same else found[1]
    return reference


def test_every_reference_to_a_proposal_is_a_relation(keps: Snapshot) -> None:
    folds = {(folded(a), kind, folded(b)) for a, kind, b in keps.edges}
    documented = {folded(one.name) for one in keps.proposals}
    counts: Counter[str] = Counter()
    lost = []
    for proposal in keps.proposals:
        for key, kind in REFERENCES.items():
            for reference in proposal.texts(key):
                target = meant(reference, keps.proposals)[:200]
                if folded(target) == folded(proposal.name):
                    counts["itself"] += 1
                    continue
                edge = (folded(proposal.name), kind, folded(target))
                edge = edge[::-1] if key == "superseded-by" else edge
                counts["known" if folded(target) in documented else "unknown"] += 1
                if edge not in folds:
                    lost.append((proposal.folder, key, reference, target))
    assert lost == []
    assert counts == Counter(known=295, unknown=152, itself=2)


def test_references_that_no_document_answers_are_marked_missing_by_reason(keps: Snapshot) -> None:
    documented = {folded(one.name) for one in keps.proposals}
    wanted = {
        folded(target)
        for one in keps.proposals
        for key in REFERENCES
        for reference in one.texts(key)
        if folded(target := meant(reference, keps.proposals)[:200]) not in documented
    }
    report = keps.library.graph.report("keps", 5000)
    missing = {folded(one.name): one.reason for one in report.missing if one.type == "KEP"}
    assert missing.keys() == wanted
    numbers = {name for name in missing if re.fullmatch(r"kep \d+", name)}
    assert {missing[name] for name in numbers} == {"no document has this name"}
    assert {missing[name] for name in missing.keys() - numbers} == {"not written as {slug} or KEP-{kep_number:int}"}
    shown = keps.library.graph.show(
        keps.library.graph.one(next(one.name for one in report.missing if one.type == "KEP"))
    )
    assert shown.missing == missing[folded(shown.entity.name)]
    assert keps.library.graph.show(keps.library.graph.one("KEP-895")).missing == ""


def test_every_proposal_has_its_owner_and_approvers(keps: Snapshot) -> None:
    folds = {(folded(a), kind, folded(b)) for a, kind, b in keps.edges}
    wanted = {(folded(one.name), "OWNED_BY", folded(sig)) for one in keps.proposals for sig in one.texts("owning-sig")}
    for one in keps.proposals:
        for person in one.texts("approvers"):
            handle = re.search(r"@([\w-]+)", person) or re.fullmatch(r"([\w-]+)", person)
            wanted.add((folded(one.name), "APPROVED_BY", folded(f"@{handle[1]}" if handle else person)))
    assert len(wanted) > 1700
    assert wanted - folds == set()


def test_feature_gates_are_never_merged(keps: Snapshot) -> None:
    raw = {
        gate["name"]
        for one in keps.proposals
        for gate in one.held.get("feature-gates") or []
        if isinstance(gate, dict) and gate.get("name", "").casefold() not in NOTHING
    }
    found = {one.name for one in keps.library.graph.top("keps", ["FEATURE_GATE"], limit=5000)}
    # One gate is written in two ways, which differ by the case of a letter.
    assert {folded(one) for one in found} == {folded(one) for one in raw}
    assert len(found) == len({one.casefold() for one in raw}) == len(raw) - 1
    near = [
        (a, b) for a, b in combinations(sorted(found), 2) if Indel.normalized_similarity(folded(a), folded(b)) >= 0.85
    ]
    assert len(near) >= 37
    assert all(keps.library.graph.one(a).id != keps.library.graph.one(b).id for a, b in near)


def test_relations_have_a_name_from_either_side(keps: Snapshot) -> None:
    graph = keps.library.graph
    source, _, target = min(one for one in keps.edges if one[1] == "REPLACES" and one[2].startswith("KEP-"))
    [*found] = graph.relations(graph.one(target), types=["REPLACED_BY"], direction="out").relations
    assert source in {one.source.name for one in found}
    assert {one.type for one in found} == {"REPLACES"}
    one, _, other = min(one for one in keps.edges if one[1] == "SEE_ALSO" and one[2].startswith("KEP-"))
    seen = graph.relations(graph.one(other), types=["SEE_ALSO"], direction="out").relations
    assert one in {each.source.name for each in seen}
