"""``model status`` and ``model install``, and the model made ready before it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from pinakes.cli.options import Reranker, command
from pinakes.cli.progress import counting
from pinakes.cli.screen import Screen
from pinakes.cli.session import Session
from pinakes.core.errors import ModelCorrupt, ModelUnavailable
from pinakes.core.records import JSON
from pinakes.core.wording import megabytes

if TYPE_CHECKING:
    from pinakes.settings import EmbeddingSettings, RerankSettings

model_app = typer.Typer(help="See or install the local models.")


def prepare(session: Session, *, verify: bool = False) -> None:
    """Fetch and convert the local model where that is still to do, showing progress.

    Raises:
        ModelUnavailable: its files are nowhere to be had.
    """
    fetch_model(session, session.settings.embedding, verify=verify)


@command(model_app, "status")
def status(session: Session, rerank: Reranker = False) -> None:
    """Show what there is of the models that the settings need, and check their files."""
    state = describe(session, verify=True, rerank=rerank)
    show(session.screen, state)
    for one in (state, state.get("reranker", {})):
        if False in (one.get("sha256_ok"), one.get("graph_ok")):
            hint = f"pinakes model install{' --rerank' if rerank or one is not state else ''}"
            error = ModelCorrupt(str(one["problem"] or "The converted model is damaged."), hint=hint)
            raise session.incomplete(error, state)
    session.screen.document(state)


@command(model_app, "install")
def install(session: Session, rerank: Reranker = False) -> None:
    """Fetch and convert the models that the settings need; damaged files are fetched again."""
    settings = session.settings
    if not rerank:
        prepare(session, verify=True)
    if rerank or settings.rerank.enabled:
        fetch_model(session, settings.rerank, verify=True)
    state = describe(session, verify=False, rerank=rerank)
    session.screen.document(state)
    show(session.screen, state)


def describe(session: Session, *, verify: bool, rerank: bool = False) -> dict[str, JSON]:
    """Return what there is of the embedding model; ``verify`` reads its files.

    That of the reranker stands in ``reranker`` where the settings switch it on; with ``rerank`` it is all there is.
    """
    settings = session.settings
    reranker = _state(session, settings.rerank, verify) if rerank or settings.rerank.enabled else {}
    if rerank:
        return reranker
    state = _state(session, settings.embedding, verify)
    return state | ({"reranker": reranker} if reranker else {})


def show(screen: Screen, state: dict[str, JSON]) -> None:
    """Print what there is of the model, for people."""
    screen.show(f"{state['model']}: {'installed' if state['installed'] else 'not installed'}")
    if state.get("folder"):
        checked = {True: ", SHA-256 agrees", False: ", SHA-256 DIFFERS", None: ""}[state["sha256_ok"]]
        screen.show(
            f"  weights  {megabytes(state['weights_bytes'])} in {state['folder']} (from: {state['origin']}){checked}"
        )
        graph = (
            f"{megabytes(state['graph_bytes'])} in {state['graph_folder']}" if state["converted"] else "not made yet"
        )
        screen.show(f"  graph    {state['precision']}, {graph}")
    if state["problem"]:
        screen.warn(str(state["problem"]))
    if "reranker" in state:
        show(screen, state["reranker"])


def fetch_model(session: Session, wanted: EmbeddingSettings | RerankSettings, *, verify: bool = False) -> None:
    """Fetch and convert a local model where that is still to do, showing progress; ``verify``: check its files, too."""
    from pinakes.models import weights

    if wanted.provider == "onnx":
        with counting(session.screen, _words, in_bytes=True) as on_step:
            weights.install(wanted, session.settings.cache, on_step, verify=verify)


def _words(what: str) -> str:
    return "converting the model" if what == "convert" else f"fetching {what}"


def _state(session: Session, wanted: EmbeddingSettings | RerankSettings, verify: bool) -> dict[str, JSON]:
    name = wanted.provider
    if name != "onnx":
        return {"provider": name, "installed": True, "problem": None, **_elsewhere(session, wanted)}
    from pinakes.models import weights

    return {"provider": name, **weights.status(wanted, session.settings.cache, verify=verify)}


def _elsewhere(session: Session, wanted: EmbeddingSettings | RerankSettings) -> dict[str, JSON]:
    """Return what there is to say of a model that is no file here: its name, and what it lacks to be asked."""
    from pinakes.models.embedders import open_embedder
    from pinakes.models.embedders.endpoint import EndpointEmbedder
    from pinakes.models.embedders.presets import model_of

    if wanted.purpose == "rerank":
        return {"model": wanted.model if wanted.provider == "http" else wanted.provider}
    embedder = open_embedder(session.settings.embedding, session.settings.cache)
    try:
        if isinstance(embedder, EndpointEmbedder):
            embedder.check()
    except ModelUnavailable as error:
        return {"model": model_of(session.settings.embedding), "installed": False, "problem": str(error)}
    return {"model": model_of(session.settings.embedding)}
