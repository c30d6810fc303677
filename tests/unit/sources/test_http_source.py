"""Pages and sitemaps: what is fetched, what is left alone, and what a failure may not do."""

from __future__ import annotations

import gzip
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import TypeAlias

import pytest
from linear import assert_linear
from waiting import until
from web_host import Page, WebHost, sitemap, sitemap_index, web_host

from pinakes.core.errors import InvalidInput, Refused, SourceError, Unreadable
from pinakes.core.records import Scan
from pinakes.settings import FetchSettings, SourceSettings
from pinakes.sources import open_source
from pinakes.sources.http import HttpSource
from pinakes.sources.sitemaps import is_sitemap

Open: TypeAlias = Callable[..., HttpSource]


@pytest.fixture
def host() -> Iterator[WebHost]:
    with web_host() as opened:
        yield opened


@pytest.fixture
def open_http(tmp_path: Path) -> Iterator[Open]:
    opened: list[HttpSource] = []

    def open_(
        *urls: str, max_file_bytes: int = 100_000, fetch: dict[str, object] | None = None, **more: object
    ) -> HttpSource:
        settings = SourceSettings.model_validate({"kind": "http", "urls": urls, **more})
        given = {"allow_private": ["127.0.0.1"], "delay_s": 0, "timeout_s": 5, **(fetch or {})}
        source = open_source(
            settings,
            work=tmp_path / "work",
            max_file_bytes=max_file_bytes,
            git_timeout_s=1,
            fetch=FetchSettings.model_validate(given),
        )
        assert isinstance(source, HttpSource)
        opened.append(source)
        return source

    yield open_
    for source in opened:
        source.close()


def names(scan: Scan) -> list[str]:
    return [item.path for item in scan.items]


def reasons(scan: Scan) -> dict[str, str]:
    return {entry.path: entry.reason for entry in scan.skipped}


class TestPages:
    def test_a_page_is_offered_and_read(self, host: WebHost, open_http: Open) -> None:
        url = host.put("/guide/install", "<h1>Install</h1>")
        source = open_http(url)
        scan = source.scan(None)
        (item,) = scan.items
        assert (item.path, item.uri, scan.complete) == ("guide/install.html", url, True)
        assert source.read(item) == f'<base href="{url}">'.encode() + b"<h1>Install</h1>"

    @pytest.mark.parametrize(
        ("path", "kind", "name"),
        [
            ("/", "text/html", "index.html"),
            ("/guide/", "text/html", "guide/index.html"),
            ("/a.htm", "text/html", "a.htm"),
            ("/page.php?id=7", "text/html", "page.php?id=7.html"),
            ("/notes.md", "text/markdown", "notes.md"),
            ("/notes.md", "text/plain", "notes.md"),
            ("/notes", "text/plain", "notes.txt"),
            ("/r%C3%A9sum%C3%A9", "application/pdf", "résumé.pdf"),
            ("/a%2Fb/..%2Fc", "text/plain", "a%2Fb/..%2Fc.txt"),
            ("/data", "application/json", "data.json"),
            ("/report.docx", "application/octet-stream", "report.docx"),
        ],
    )
    def test_a_page_is_called_so_that_its_reader_is_found(
        self, host: WebHost, open_http: Open, path: str, kind: str, name: str
    ) -> None:
        assert names(open_http(host.put(path, "text", kind=kind)).scan(None)) == [name]

    def test_what_a_page_is_shows_where_its_host_does_not_say_it(self, host: WebHost, open_http: Open) -> None:
        page = host.put("/page", "\n<!-- x --><!DOCTYPE HTML><p>hello", kind="application/octet-stream")
        paper = host.put("/paper", "%PDF-1.7 …", kind="text/plain")
        assert names(open_http(page, paper).scan(None)) == ["page.html", "paper.pdf"]

    def test_text_whose_encoding_only_the_host_tells_is_understood(self, host: WebHost, open_http: Open) -> None:
        host.pages["/ru"] = Page("Привет".encode("koi8-r"), kind="text/plain; charset=KOI8-R")
        source = open_http(f"{host.address}/ru")
        assert source.read(source.scan(None).items[0]).decode() == "Привет"

    def test_links_are_not_given_another_base_where_a_page_has_one(self, host: WebHost, open_http: Open) -> None:
        url = host.put("/page", '<head><BASE href="https://docs.example/"></head>')
        source = open_http(url)
        assert source.read(source.scan(None).items[0]).startswith(b"<head>")

    def test_pages_of_several_hosts_are_kept_apart(self, host: WebHost, open_http: Open) -> None:
        with web_host() as other:
            scan = open_http(host.put("/a", "1"), other.put("/a", "2")).scan(None)
        assert names(scan) == sorted(f"127.0.0.1_{one.port}/a.html" for one in (host, other))

    def test_two_addresses_that_lead_to_one_page_give_one_document(self, host: WebHost, open_http: Open) -> None:
        new = host.put("/new", "text")
        old = host.put("/old", "", status=301, headers={"Location": "/new"})
        scan = open_http(new, old).scan(None)
        assert names(scan) == ["new.html"]
        assert reasons(scan) == {"old.html": f"The same page as {new}"}

    def test_where_a_page_led_is_told(self, host: WebHost, open_http: Open) -> None:
        new = host.put("/new", "text")
        (item,) = open_http(host.put("/old", "", status=302, headers={"Location": "/new"})).scan(None).items
        assert item.metadata == {"url": new}
        assert item.uri == f"{host.address}/old"

    def test_a_secret_in_an_address_is_refused(self, open_http: Open) -> None:
        with pytest.raises(InvalidInput, match="secret") as caught:
            open_http("https://docs.example/page?access_token=abcdef123")
        assert "abcdef" not in str(caught.value)

    def test_the_token_of_the_environment_goes_to_the_hosts_of_the_source_only(
        self, host: WebHost, open_http: Open, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("WIKI_TOKEN", "t0ken")
        with web_host() as other:
            away = other.put("/away", "there")
            urls = host.put("/a", "1"), host.put("/b", "", status=302, headers={"Location": away})
            assert len(open_http(*urls, token_variable="WIKI_TOKEN").scan(None).items) == 2
            asked = [one for one in host.asked if one.path != "/robots.txt"]
            assert [one.headers.get("authorization") for one in asked] == ["Bearer t0ken"] * 2
            assert all("authorization" not in one.headers for one in other.asked)


class TestChanges:
    def test_an_unchanged_page_is_not_sent_again(self, host: WebHost, open_http: Open) -> None:
        url = host.put("/page", "text", etag=True)
        first = open_http(url).scan(None)
        source = open_http(url)
        second = source.scan(first.state)
        assert second.items == first.items
        assert [one.headers.get("if-none-match") is not None for one in host.asked if one.path == "/page"] == [
            False,
            True,
        ]
        assert source.read(second.items[0]).endswith(b"text")

    def test_last_modified_is_told_back_as_well(self, host: WebHost, open_http: Open) -> None:
        url = host.put("/page", "text", headers={"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"})
        state = open_http(url).scan(None).state
        open_http(url).scan(state)
        assert host.asked[-1].headers["if-modified-since"] == "Mon, 01 Jan 2024 00:00:00 GMT"

    def test_the_same_content_has_the_same_fingerprint(self, host: WebHost, open_http: Open) -> None:
        url = host.put("/page", "text")
        before = open_http(url).scan(None)
        assert open_http(url).scan(before.state).items == before.items
        host.put("/page", "other")
        assert open_http(url).scan(before.state).items[0].fingerprint != before.items[0].fingerprint

    def test_a_page_that_is_gone_is_offered_no_more(self, host: WebHost, open_http: Open) -> None:
        urls = host.put("/stays", "text"), host.put("/goes", "text")
        state = open_http(*urls).scan(None).state
        host.put("/goes", "", status=410)
        scan = open_http(*urls).scan(state)
        assert (names(scan), scan.complete) == (["stays.html"], True)
        assert reasons(scan) == {"goes.html": "Not there (status 410)"}

    @pytest.mark.parametrize("status", [500, 502, 403, 429])
    def test_a_page_that_fails_is_reported_and_stays(self, host: WebHost, open_http: Open, status: int) -> None:
        urls = host.put("/well", "text"), host.put("/ill", "text")
        state = open_http(*urls).scan(None).state
        host.put("/ill", "oh", status=status)
        source = open_http(*urls)
        scan = source.scan(state)
        ill = next(item for item in scan.items if item.path == "ill.html")
        with pytest.raises(Unreadable, match=f"status {status}"):
            source.read(ill)

    def test_what_was_fetched_and_lost_is_fetched_again(self, host: WebHost, open_http: Open, tmp_path: Path) -> None:
        url = host.put("/page", "text", etag=True)
        state = open_http(url).scan(None).state
        for content in (tmp_path / "work/pages").glob("*.body"):
            content.unlink()
        source = open_http(url)
        assert source.read(source.scan(state).items[0]).endswith(b"text")

    def test_what_is_not_listed_any_more_is_not_kept(self, host: WebHost, open_http: Open, tmp_path: Path) -> None:
        pages = [host.put(f"/{number}", f"text {number}") for number in range(3)]
        open_http(*pages).scan(None)
        long_ago = time.time() - 30 * 86_400
        for about in (tmp_path / "work/pages").glob("*.json"):
            os.utime(about, (long_ago, long_ago))
        open_http(pages[0]).scan(None)
        assert len(list((tmp_path / "work/pages").iterdir())) == 2

    def test_collections_that_read_other_pages_of_one_place_leave_each_other_theirs(
        self, host: WebHost, open_http: Open
    ) -> None:
        pages = [host.put(f"/{name}/page", f"text {name}") for name in ("guide", "news")]
        site = host.put("/sitemap.xml", sitemap(*pages), kind="application/xml")
        guide, news = open_http(site, include=["/guide/**"]), open_http(site, include=["/news/**"])
        (item,) = guide.scan(None).items
        assert names(news.scan(None)) == ["news/page.html"]
        assert guide.read(item).endswith(b"text guide")

    def test_content_that_was_changed_in_the_home_is_not_read(
        self, host: WebHost, open_http: Open, tmp_path: Path
    ) -> None:
        source = open_http(host.put("/page", "text"))
        (item,) = source.scan(None).items
        next((tmp_path / "work/pages").glob("*.body")).write_bytes(b"evil")
        with pytest.raises(Unreadable, match="fetched anew"):
            source.read(item)


class TestRefusals:
    def test_what_no_reader_knows_is_passed_over(self, host: WebHost, open_http: Open) -> None:
        urls = host.put("/logo", "x", kind="image/png"), host.put("/text", "x"), host.put("/empty", " \n")
        scan = open_http(*urls).scan(None)
        assert names(scan) == ["text.html"]
        assert reasons(scan) == {"logo": "Content type image/png, which is not read", "empty": "Empty page"}

    def test_a_page_that_is_too_large_is_passed_over(self, host: WebHost, open_http: Open) -> None:
        urls = host.put("/large", "x" * 1001), host.put("/bomb", "small"), host.put("/fits", "x" * 1000)
        host.pages["/bomb"] = Page(gzip.compress(bytes(70_000_000)), headers={"Content-Encoding": "gzip"})
        scan = open_http(*urls, max_file_bytes=1000).scan(None)
        assert names(scan) == ["fits.html"]
        assert set(reasons(scan).values()) == {"Page too large (max 1000 bytes)"}

    def test_a_private_address_is_reported_and_the_rest_goes_on(self, host: WebHost, open_http: Open) -> None:
        host.put("/out", "", status=302, headers={"Location": "http://169.254.169.254/latest/meta-data"})
        source = open_http(host.put("/page", "text"), f"{host.address}/out")
        scan = source.scan(None)
        assert names(scan) == ["out", "page.html"]
        with pytest.raises(Unreadable, match="not on the open network"):
            source.read(scan.items[0])

    def test_a_page_that_leads_to_a_private_address_now_is_not_gone(self, host: WebHost, open_http: Open) -> None:
        urls = host.put("/a", "x"), host.put("/b", "y")
        state = open_http(*urls).scan(None).state
        host.put("/a", "", status=302, headers={"Location": "http://169.254.169.254/latest/meta-data"})
        source = open_http(*urls)
        scan = source.scan(state)
        assert (names(scan), reasons(scan)) == (["a.html", "b.html"], {})
        with pytest.raises(Unreadable, match="not on the open network"):
            source.read(scan.items[0])

    def test_nothing_but_private_addresses_is_an_error(self, host: WebHost, open_http: Open) -> None:
        with pytest.raises(Refused) as caught:
            open_http(host.put("/page", "text"), fetch={"allow_private": []}).scan(None)
        assert "fetch.allow_private" in caught.value.hint
        assert host.asked == []

    def test_nothing_at_all_is_an_error(self, open_http: Open) -> None:
        with pytest.raises(SourceError, match="Nothing was removed"):
            open_http("http://127.0.0.1:1/page", fetch={"robots": False}).scan(None)

    def test_a_host_that_does_not_answer_is_not_asked_for_every_page(self, host: WebHost, open_http: Open) -> None:
        pages = [f"http://127.0.0.1:1/{number}" for number in range(50)]
        source = open_http(host.put("/page", "x"), *pages, fetch={"robots": False})
        scan = source.scan(None)
        told = {item.fingerprint for item in scan.items if item.size_bytes == 0}
        assert any("is not asked again" in one for one in told)

    def test_an_item_of_nobody_is_not_read(self, host: WebHost, open_http: Open) -> None:
        (item,) = open_http(host.put("/page", "text")).scan(None).items
        with pytest.raises(Unreadable, match="not listed"):
            open_http(f"{host.address}/page").read(item)


class TestManners:
    def test_what_robots_txt_forbids_is_not_asked_for(self, host: WebHost, open_http: Open) -> None:
        host.put("/robots.txt", "User-agent: *\nDisallow: /hidden/*.html$\nAllow: /hidden/open.html", kind="text/plain")
        urls = [host.put(path, "x") for path in ("/hidden/a.html", "/hidden/a.html.txt", "/hidden/open.html", "/b")]
        scan = open_http(*urls).scan(None)
        assert reasons(scan) == {"hidden/a.html": "Its host's robots.txt does not allow it"}
        assert "/hidden/a.html" not in host.paths()

    def test_our_own_name_is_looked_for(self, host: WebHost, open_http: Open) -> None:
        host.put("/robots.txt", "User-agent: *\nDisallow: /\n\nUser-agent: Pinakes\nDisallow:", kind="text/plain")
        assert open_http(host.put("/page", "x")).scan(None).items

    def test_the_settings_may_let_robots_txt_be(self, host: WebHost, open_http: Open) -> None:
        host.put("/robots.txt", "User-agent: *\nDisallow: /", kind="text/plain")
        assert open_http(host.put("/page", "x"), fetch={"robots": False}).scan(None).items

    def test_while_robots_txt_cannot_be_had_nothing_is_asked_for(self, host: WebHost, open_http: Open) -> None:
        host.put("/robots.txt", "", status=503)
        with pytest.raises(SourceError, match=r"robots\.txt cannot be read: status 503"):
            open_http(host.put("/page", "x")).scan(None)
        assert host.paths() == []

    def test_requests_to_a_host_keep_their_distance(self, host: WebHost, open_http: Open) -> None:
        urls = [host.put(f"/{number}", "x") for number in range(4)]
        start = time.monotonic()
        open_http(*urls, fetch={"delay_s": 0.1}).scan(None)
        assert time.monotonic() - start >= 0.4

    def test_a_host_may_ask_for_more_distance(self, host: WebHost, open_http: Open) -> None:
        host.put("/robots.txt", "User-agent: *\nCrawl-delay: 0.3", kind="text/plain")
        start = time.monotonic()
        open_http(host.put("/a", "x"), host.put("/b", "x")).scan(None)
        assert time.monotonic() - start >= 0.6

    def test_one_that_says_later_is_asked_again_when_it_said(self, host: WebHost, open_http: Open) -> None:
        url = host.put("/page", "", status=503, headers={"Retry-After": "0"})
        with pytest.raises(SourceError):
            open_http(url).scan(None)
        assert host.paths() == ["/page", "/page"]

    def test_one_that_says_by_a_date_when_is_asked_again_then(self, host: WebHost, open_http: Open) -> None:
        later = {"Retry-After": format_datetime(datetime.now(UTC) + timedelta(seconds=2), usegmt=True)}
        url = host.put("/page", "", status=429, headers=later)
        start = time.monotonic()
        with pytest.raises(SourceError):
            open_http(url).scan(None)
        assert host.paths() == ["/page", "/page"]
        assert time.monotonic() - start >= 0.5

    def test_closing_ends_what_waits(self, host: WebHost, open_http: Open) -> None:
        source = open_http(*[host.put(f"/{number}", "x") for number in range(3)], fetch={"delay_s": 1000})
        with ThreadPoolExecutor(1) as thread:
            scanning = thread.submit(source.scan, None)
            until(lambda: bool(host.asked))
            source.close()
            with pytest.raises(SourceError, match="was ended"):
                scanning.result(timeout=10)


class TestSitemaps:
    def test_the_pages_of_a_sitemap_are_read(self, host: WebHost, open_http: Open) -> None:
        pages = [host.put(path, path) for path in ("/", "/guide/a", "/guide/b")]
        scan = open_http(host.put("/sitemap.xml", sitemap(*pages), kind="application/xml")).scan(None)
        assert names(scan) == ["guide/a.html", "guide/b.html", "index.html"]

    def test_an_index_of_packed_sitemaps_is_followed(self, host: WebHost, open_http: Open) -> None:
        host.pages["/one.xml.gz"] = Page(gzip.compress(sitemap(host.put("/a", "x")).encode()), kind="application/gzip")
        two = host.put("/two.xml", sitemap(host.put("/b", "x"), host.put("/a", "x")), kind="text/xml")
        index = host.put("/sitemap.xml", sitemap_index(f"{host.address}/one.xml.gz", two), kind="text/xml")
        assert names(open_http(index).scan(None)) == ["a.html", "b.html"]

    def test_patterns_say_which_of_its_pages(self, host: WebHost, open_http: Open) -> None:
        pages = [host.put(path, path) for path in ("/guide/a", "/guide/old/b", "/blog/c", "/guide/d.pdf")]
        source = open_http(host.put("/s.xml", sitemap(*pages)), include=["/guide/**"], exclude=["old/", "*.pdf"])
        scan = source.scan(None)
        assert names(scan) == ["guide/a.html"]
        assert reasons(scan)["."].startswith("Left out by exclude patterns: 2 entries")
        assert "/blog/c" not in host.paths()

    def test_a_path_that_is_listed_is_that_path_before_it_is_a_pattern(self, host: WebHost, open_http: Open) -> None:
        pages = [host.put(path, path) for path in ("/app/[id]/a", "/app/i/a", "/app/%7Bx,y%7D", "/app/x")]
        index = host.put("/s.xml", sitemap(*pages))
        assert names(open_http(index, include=["app/[id]/*"]).scan(None)) == ["app/[id]/a.html"]
        assert names(open_http(index, include=["app/{x,y}"]).scan(None)) == ["app/{x,y}.html"]
        kept = open_http(index, exclude=["app/[id]/", "/app/{x,y}"]).scan(None)
        assert names(kept) == ["app/i/a.html", "app/x.html"]

    def test_pages_of_other_hosts_are_not_asked_for(self, host: WebHost, open_http: Open) -> None:
        listing = sitemap(host.put("/a", "x"), "http://victim.example/login", "ftp://x/y", "http://10.0.0.1/")
        scan = open_http(host.put("/s.xml", listing)).scan(None)
        assert names(scan) == ["a.html"]
        assert reasons(scan)["."] == "Listed by a sitemap, but of another host: 3"

    def test_what_did_not_change_by_the_sitemap_is_not_asked_for(self, host: WebHost, open_http: Open) -> None:
        pages = {path: host.put(path, path) for path in ("/a", "/b")}
        index = host.put("/s.xml", sitemap((pages["/a"], "2024-01-01"), (pages["/b"], "2024-01-01")))
        state = open_http(index).scan(None).state
        host.paths()
        host.put("/s.xml", sitemap((pages["/a"], "2024-01-01"), (pages["/b"], "2024-02-02")))
        assert len(open_http(index).scan(state).items) == 2
        assert host.paths() == ["/s.xml", "/b"]

    def test_a_page_that_is_listed_no_more_is_gone(self, host: WebHost, open_http: Open) -> None:
        pages = [host.put(path, path) for path in ("/a", "/b")]
        index = host.put("/s.xml", sitemap(*pages))
        state = open_http(index).scan(None).state
        host.put("/s.xml", sitemap(pages[0]))
        scan = open_http(index).scan(state)
        assert (names(scan), scan.complete) == (["a.html"], True)

    def test_while_a_sitemap_fails_the_list_it_had_holds(self, host: WebHost, open_http: Open) -> None:
        index = host.put("/s.xml", sitemap(host.put("/a", "x")))
        state = open_http(index).scan(None).state
        for status in (500, 404):
            host.put("/s.xml", "oh", status=status)
            source = open_http(index)
            scan = source.scan(state)
            assert names(scan) == ["a.html", "s.xml"]
            with pytest.raises(Unreadable, match=f"status {status}"):
                source.read(scan.items[1])

    def test_a_part_of_an_index_that_fails_takes_nothing_away(self, host: WebHost, open_http: Open) -> None:
        one = host.put("/one.xml", sitemap(host.put("/a", "x")))
        index = host.put("/s.xml", sitemap_index(one, f"{host.address}/two.xml"))
        scan = open_http(index).scan(None)
        assert names(scan) == ["a.html", "two.xml"]
        assert not scan.complete

    def test_a_sitemap_that_became_a_page_is_an_error(self, host: WebHost, open_http: Open, tmp_path: Path) -> None:
        index = host.put("/s.xml", sitemap(host.put("/a", "x")))
        state = open_http(index).scan(None).state
        host.put("/s.xml", "<h1>We moved</h1>")
        with pytest.raises(SourceError, match="was a sitemap with pages, and is none now"):
            open_http(index).scan(state)

    @pytest.mark.parametrize(
        "listing",
        [
            '<?xml version="1.0"?><urlset><url><loc>http://x/',
            '<!DOCTYPE urlset [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>',
            '<?xml version="1.0"?><urlset><url></loc></urlset>',
        ],
    )
    def test_a_damaged_sitemap_is_reported_and_takes_nothing_away(
        self, host: WebHost, open_http: Open, listing: str
    ) -> None:
        source = open_http(host.put("/s.xml", listing), host.put("/a", "x"))
        scan = source.scan(None)
        assert names(scan) == ["a.html", "s.xml"]
        assert not scan.complete
        with pytest.raises(Unreadable, match="sitemap"):
            source.read(scan.items[1])

    @pytest.mark.parametrize(
        ("kind", "text"),
        [
            ("text/markdown", "# Sitemaps\n\n```xml\n<urlset>\n<url/>\n</urlset>\n```\n"),
            ("text/html", "<!DOCTYPE html><p>Write <urlset > or <sitemapindex>.</p>"),
            ("application/xml", '<?xml version="1.0"?><guide><urlset></urlset></guide>'),
            ("text/html", "<!-- <urlset> --><p>hello</p>"),
        ],
    )
    def test_a_page_about_sitemaps_is_a_page(self, host: WebHost, open_http: Open, kind: str, text: str) -> None:
        pages = [host.put("/guide", text, kind=kind), host.put("/a", "x")]
        source = open_http(host.put("/s.xml", sitemap(*pages)))
        scan = source.scan(None)
        assert (len(scan.items), scan.complete) == (2, True)
        assert all(source.read(item) for item in scan.items)

    @pytest.mark.parametrize(
        "start",
        [
            "",
            "\ufeff",
            '<?xml version="1.0" encoding="UTF-8"?>\n<?xml-stylesheet href="s.xsl"?>\n',
            "<!-- made by <a> tool --><!-- <html> -->\n",
            "<!DOCTYPE urlset>",
        ],
    )
    def test_what_stands_before_its_root_hides_no_sitemap(self, start: str) -> None:
        assert is_sitemap(f"{start}<urlset/>".encode())
        assert is_sitemap(f'{start}<s:sitemapindex xmlns:s="x">'.encode())

    def test_whether_it_is_a_sitemap_is_told_soon_of_hostile_pages(self) -> None:
        for part in (b"<!---->", b"<??>", b"<!DOCTYPE[]>", b"<!DOCTYPE[", b" "):
            assert not is_sitemap(part * 5000)
            assert_linear(is_sitemap, lambda times, part=part: part * times, 5000)  # type: ignore[misc]

    def test_no_more_pages_than_allowed_are_taken(self, host: WebHost, open_http: Open) -> None:
        pages = [host.put(f"/{number}", "x") for number in range(5)]
        scan = open_http(host.put("/s.xml", sitemap(*pages)), fetch={"max_pages": 3}).scan(None)
        assert len(scan.items) == 3
        assert reasons(scan)["."] == "More than fetch.max_pages (3): 2"

    def test_sitemaps_that_lead_in_a_circle_end(self, host: WebHost, open_http: Open) -> None:
        index = f"{host.address}/s.xml"
        host.put("/s.xml", sitemap_index(index, host.put("/t.xml", sitemap_index(index))))
        assert open_http(index, host.put("/a", "x")).scan(None).items[0].path == "a.html"

    def test_a_sitemap_that_lists_nothing_any_more_takes_nothing_away(self, host: WebHost, open_http: Open) -> None:
        index = host.put("/s.xml", sitemap(host.put("/a", "x")))
        state = open_http(index).scan(None).state
        host.put("/s.xml", sitemap())
        with pytest.raises(SourceError, match=r"lists no page now.*Nothing was removed"):
            open_http(index).scan(state)

    def test_a_sitemap_that_never_listed_anything_is_no_error(self, host: WebHost, open_http: Open) -> None:
        index = host.put("/s.xml", sitemap())
        state = open_http(index).scan(None).state
        assert open_http(index).scan(state).items == ()

    def test_pages_of_the_host_that_a_sitemap_leads_to_are_read(self, host: WebHost, open_http: Open) -> None:
        there = f"http://localhost:{host.port}"
        host.put("/a", "x")
        host.put("/real.xml", sitemap(f"{there}/a"))
        host.pages["/s.xml"] = Page(status=301, headers={"location": f"{there}/real.xml"})
        scan = open_http(f"{host.address}/s.xml", fetch={"allow_private": ["127.0.0.1", "localhost"]}).scan(None)
        assert (names(scan), reasons(scan)) == (["a.html"], {})

    def test_how_far_it_is_is_told_as_it_goes_on(self, host: WebHost, open_http: Open) -> None:
        pages = [host.put(f"/{number}", "x") for number in range(5)]
        steps = open_http(host.put("/s.xml", sitemap(*pages)), fetch={"delay_s": 0.3}).scanning(None)
        told = list(steps)
        assert told[0] == (1, 1)
        assert told[-1] == (6, 6)
        assert any(1 < done < total == 6 for done, total in told), "while pages are asked for"

    def test_whoever_stops_listening_ends_the_run(self, host: WebHost, open_http: Open) -> None:
        pages = [host.put(f"/{number}", "x") for number in range(50)]
        source = open_http(host.put("/s.xml", sitemap(*pages)), fetch={"delay_s": 0.1})
        steps = source.scanning(None)
        next(steps)
        next(steps)
        steps.close()
        assert len(host.paths()) < 50
