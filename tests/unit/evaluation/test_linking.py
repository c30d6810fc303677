"""Documents of two sides are told to be the same by whatever they have in common."""

from __future__ import annotations

from collections.abc import Sequence

from pinakes.evaluation.document_matching import DocumentMatches, KnownDocuments, golden_names, link
from pinakes.evaluation.systems import Named


def met(*answered: Named, every: Sequence[Named] = ()) -> KnownDocuments:
    return KnownDocuments(answered, [*dict.fromkeys([*every, *answered])])


def same(links: DocumentMatches, one: Named, other: Named) -> bool:
    return links.a[one] == links.b[other]


def collection(*paths: str, root: str = "file:///a") -> list[Named]:
    return [Named(f"{root}-{number}", f"{root}/{path}", path) for number, path in enumerate(paths)]


def test_documents_of_two_homes_are_the_same_when_their_paths_are_whatever_their_ids() -> None:
    a, b = collection("x.md", "sub/x.md"), collection("sub/x.md", "x.md", root="file:///b")
    links = link(met(*a), met(*b))
    assert (links.by, links.share, links.unknown) == ("path", 1.0, ((), ()))
    assert same(links, a[0], b[1])
    assert same(links, a[1], b[0])
    assert not same(links, a[0], b[0])


def test_the_end_of_a_path_is_enough_on_either_side() -> None:
    long, short = collection("keps/a/x.md", "keps/b/y.md"), collection("a/x.md", "b/y.md", root="file:///b")
    for first, second in ((long, short), (short, long)):
        links = link(met(*first), met(*second))
        assert links.share == 1
        assert same(links, first[0], second[0])
        assert same(links, first[1], second[1])


def test_an_end_that_fits_several_documents_links_nothing() -> None:
    a = collection("a/README.md", "b/README.md")
    b = [Named(path="README.md")]
    links = link(met(*a), met(*b))
    assert links.share == 0
    assert links.unknown[1] == ("README.md",)
    assert links.b[b[0]] not in links.a.values()


def test_paths_that_occur_twice_are_told_apart_by_their_uris() -> None:
    a = [Named("1", "git://one/x.md", "x.md"), Named("2", "git://two/x.md", "x.md")]
    b = [Named("3", "git://two/x.md", "x.md")]
    links = link(met(*a), met(*b))
    assert links.by == "uri"
    assert same(links, a[1], b[0])
    assert not same(links, a[0], b[0])


def test_ids_of_a_run_are_names_of_files_without_their_extension() -> None:
    a = collection("4983.md", "10%2F5.md")
    b = [Named(path="4983"), Named(path="10/5")]
    links = link(met(*a), met(*b))
    assert links.share == 1
    assert same(links, a[1], b[1])
    assert links.shown[links.a[a[0]]] == "4983.md"


def test_a_server_that_knows_only_keys_is_compared_by_the_groups_of_documents() -> None:
    a = [Named("1", "u1", "keps/1/README.md", "sig/1"), Named("2", "u2", "keps/1/kep.yaml", "sig/1")]
    b = [Named(key="sig/1"), Named(key="sig/2")]
    links = link(met(*a), met(*b))
    assert links.by == "key"
    assert links.a[a[0]] == links.a[a[1]] == links.b[b[0]]
    assert links.unknown[1] == ("sig/2",)
    assert links.share == 0.5


def test_a_run_that_names_groups_is_compared_by_them() -> None:
    a = [Named("1", "u1", "keps/1/README.md", "sig/1"), Named("2", "u2", "keps/1/kep.yaml", "sig/1")]
    a.append(Named("3", "u3", "keps/2/README.md", "sig/2"))
    b = [Named(path="sig/2", key="sig/2"), Named(path="sig/1", key="sig/1")]
    links = link(met(*a), met(*b))
    assert (links.by, links.share) == ("key", 1.0)
    assert same(links, a[2], b[0])
    assert links.shown[links.a[a[0]]] == "sig/1"


def test_what_the_whole_collection_has_is_known_even_if_it_was_not_answered_with() -> None:
    every = collection("x.md", "y.md")
    b = collection("y.md", "z.md", root="file:///b")
    links = link(met(every[0], every=every), met(*b))
    assert links.unknown[1] == ("z.md",)
    assert links.share == 0.5
    assert not same(links, every[0], b[0])


def test_sides_with_nothing_in_common_stay_apart() -> None:
    a, b = collection("x.md"), collection("y.md", root="file:///b")
    links = link(met(*a), met(*b))
    assert links.share == 0
    assert not same(links, a[0], b[0])
    assert link(met(), met()).share == 0


def test_golden_names_are_looked_up_among_the_documents_of_a_side() -> None:
    docs = collection("a/x.md", "b/y.md")
    found = golden_names(["x", "y.md", "nowhere"], met(*docs), by_field=False)
    assert found is not None
    assert found.ranking([docs[1], docs[0]], {"x": 1}) == ["y.md", "x"]
    assert found.names.unknown == ("nowhere",)
    assert golden_names(["nowhere"], met(*docs), by_field=False) is None


def test_golden_names_may_be_values_of_the_field_that_documents_are_compared_by() -> None:
    docs = [Named("1", path="x.md", key="acme"), Named("2", path="y.md", key="acme"), Named("3", path="z.md")]
    found = golden_names(["Acme"], met(*docs), by_field=True)
    assert found is not None
    assert found.ranking(docs, {"Acme": 1})[0] == "Acme"
    assert len(found.ranking(docs, {"Acme": 1})) == 2
