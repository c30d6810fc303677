"""Parts of other distributions beside ours: found by name, loaded when they are named, refused where names clash."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path

import plugin_packages
import pytest

from pinakes import parsing
from pinakes.core.errors import Empty, InvalidSetting, PluginBroken, TooLarge, Unreadable
from pinakes.models.embedders import EMBEDDERS, open_embedder
from pinakes.models.rerankers import open_reranker
from pinakes.platform import plugins
from pinakes.settings import EmbeddingSettings, RerankSettings
from pinakes.sources.web_pages import typed_path

GPX = b"""<gpx xmlns="http://www.topografix.com/GPX/1/1"><metadata><name>Alps</name></metadata>
<wpt><name>Falkenhut</name><desc>A hut
 with a view.</desc></wpt><trk><name>Karwendel</name></trk><trk/></gpx>"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path of modules, where packages are installed."""
    before = set(sys.modules)
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    plugins.offered.cache_clear()
    yield folder
    plugins.offered.cache_clear()
    for name in set(sys.modules) - before:
        if str(folder) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def ready() -> None:
    importlib.invalidate_caches()
    plugins.offered.cache_clear()


def problems(group: str) -> dict[str, str]:
    return {f"{one.distribution} {one.name}": one.error for one in plugins.list_parts(group, EMBEDDERS) if one.error}


def test_settings_name_embedders_and_rerankers_of_a_package(site: Path, tmp_path: Path) -> None:
    plugin_packages.install_example(site)
    embedder = open_embedder(EmbeddingSettings(provider="hashed-words", dimension=64), tmp_path)
    assert embedder.fingerprint == "pinakes-example/hashed-words/1/64"
    reranker = open_reranker(RerankSettings(provider="word-overlap"), tmp_path)
    assert reranker.score("a hut", ["a hut", "a sea", "rain"]).tolist() == [1.0, 0.5, 0.0]


def test_an_unknown_name_is_told_with_those_of_packages(site: Path, tmp_path: Path) -> None:
    plugin_packages.install_example(site)
    with pytest.raises(InvalidSetting, match=r"no embedding provider 'nothing'.*hashed-words, huggingface"):
        open_embedder(EmbeddingSettings(provider="nothing"), tmp_path)


def test_a_package_reads_an_extension(site: Path) -> None:
    plugin_packages.install_example(site)
    document = parsing.read(GPX, "walks/Alps.GPX", max_chars=1000)
    assert (document.title, document.reader) == ("Alps", "pinakes-example/.gpx:0.1.0")
    assert document.text == "# Alps\n\n## Place Falkenhut\n\nA hut with a view.\n\n## Track Karwendel\n\n\n"
    assert parsing.reader_of("walks/alps.gpx") == "pinakes-example/.gpx:0.1.0"
    assert parsing.converts("walks/alps.gpx"), "it is read in this process"


@pytest.mark.parametrize(
    ("data", "most", "error"),
    [(b"<gpx", 1000, Unreadable), (b"<gpx/>", 1000, Empty), (GPX, 20, TooLarge)],
)
def test_what_the_reader_of_a_package_refuses_is_refused(
    site: Path, data: bytes, most: int, error: type[Exception]
) -> None:
    plugin_packages.install_example(site)
    with pytest.raises(error):
        parsing.read(data, "alps.gpx", max_chars=most)


def test_content_that_is_another_format_is_read_as_that(site: Path) -> None:
    plugin_packages.install_example(site)
    with pytest.raises(Unreadable) as caught:
        parsing.read(b"%PDF-1.4 damaged", "alps.gpx", max_chars=1000)
    assert not isinstance(caught.value, PluginBroken)
    assert parsing.reader_of("alps.gpx", b"%PDF-1.4") == parsing.reader_of("alps.pdf")


def test_a_package_reads_a_file_name_and_files_that_are_refused_otherwise(site: Path) -> None:
    code = (
        "from pinakes import Document\n"
        "class Any:\n"
        "    def __init__(self, limits): pass\n"
        "    def read(self, data, path): return Document('Read:\\r\\n\\x00' + data.decode())\n"
    )
    plugin_packages.install(
        site, "any-reader", "readers", {"Pipfile": "any_reader:Any", ".SVG": "any_reader:Any"}, code
    )
    assert parsing.read(b"one", "a/Pipfile", max_chars=1000).text == "Read:\none"
    assert parsing.read(b"two", "a/plan.svg", max_chars=1000).text == "Read:\ntwo"
    assert parsing.refusal("a/photo.png")


def test_pages_of_a_media_type_get_the_extension_of_its_reader(site: Path) -> None:
    assert typed_path("host/track", "application/gpx+xml") == "host/track.txt"
    plugin_packages.install_example(site)
    ready()
    assert typed_path("host/track", "application/gpx+xml") == "host/track.gpx"
    assert typed_path("host/track.gpx", "application/gpx+xml") == "host/track.gpx"
    assert typed_path("host/track", "text/html") == "host/track.html"


def test_documents_of_another_version_of_a_package_are_older(site: Path) -> None:
    plugin_packages.install_example(site)
    assert not parsing.is_older("pinakes-example/.gpx:0.1.0", "alps.gpx")
    plugin_packages.install_example(site, "0.2.0")
    ready()
    assert parsing.is_older("pinakes-example/.gpx:0.1.0", "alps.gpx")
    plugin_packages.uninstall(site, "pinakes-example")
    ready()
    assert not parsing.is_older("pinakes-example/.gpx:0.1.0", "alps.gpx"), "read again by nothing that could"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise SystemExit('enough')", "SystemExit: enough"),
        ("class Other: pass", "AttributeError: module 'broken' has no attribute 'Part'"),
        ("class Part: pass", "AttributeError: type object 'Part' has no attribute 'open'"),
        ("Part = 1 +", "SyntaxError: invalid syntax"),
    ],
)
def test_a_package_that_cannot_be_used_is_named(site: Path, tmp_path: Path, code: str, why: str) -> None:
    plugin_packages.install(site, "broken", "embedders", {"mine": "broken:Part"}, code, version="2.3")
    with pytest.raises(PluginBroken) as caught:
        open_embedder(EmbeddingSettings(provider="mine"), tmp_path)
    assert caught.value.message.startswith(f"The embedding provider 'mine' of broken 2.3 cannot be used: {why}")


def test_a_reader_that_gives_no_document_is_named(site: Path) -> None:
    code = "class Odd:\n    def __init__(self, limits): pass\n    def read(self, data, path): return 'text'\n"
    plugin_packages.install(site, "odd", "readers", {".odd": "odd:Odd"}, code)
    with pytest.raises(PluginBroken, match=r"reader '\.odd' of odd 1\.0 cannot be used: it gave str, not Document"):
        parsing.read(b"text", "a.odd", max_chars=1000)


def test_a_name_that_two_packages_have_is_used_by_neither(site: Path, tmp_path: Path) -> None:
    for name in ("first", "second"):
        plugin_packages.install(site, name, "embedders", {"same": "common:Part"}, "class Part: pass")
    with pytest.raises(PluginBroken, match=r"'same' of first 1\.0 has the name of that of second 1\.0") as caught:
        open_embedder(EmbeddingSettings(provider="same"), tmp_path)
    assert "Uninstall" in caught.value.hint
    assert list(problems("embedders")) == ["first same", "second same"]


def test_a_name_of_ours_stays_ours(site: Path, tmp_path: Path) -> None:
    plugin_packages.install(site, "taker", "embedders", {"deterministic": "taker:Part"}, "class Part: pass")
    plugin_packages.install(site, "md-taker", "readers", {".MD": "md_taker:Part"}, "class Part: pass")
    assert open_embedder(EmbeddingSettings(provider="deterministic"), tmp_path).fingerprint.startswith("deterministic/")
    assert parsing.read(b"# Title", "a.md", max_chars=100).title == "Title"
    (error,) = problems("embedders").values()
    assert "'deterministic' of taker 1.0 has the name of a part of Pinakes" in error
    assert "rename the entry point" in error
    *_, listed = plugins.list_parts("readers", {".md": "pinakes.parsing.markdown:Markdown"})
    assert (listed.name, listed.distribution, listed.version, listed.loads) == (".MD", "md-taker", "1.0", False)


def test_nothing_is_loaded_that_is_not_named(site: Path, tmp_path: Path) -> None:
    code = "raise RuntimeError('it was loaded')"
    for group in plugins.GROUPS:
        plugin_packages.install(site, f"eager_{group}", group, {".eager": f"eager_{group}:Part"}, code)
    open_embedder(EmbeddingSettings(provider="deterministic"), tmp_path)
    assert parsing.read(b"words", "a.unknown", max_chars=100).text == "words"
    assert parsing.is_older("text:1", "a.unknown")
    assert not {name for name in sys.modules if name.startswith("eager")}
