"""``model status`` and ``model install``, and the model made ready before it is needed."""

from __future__ import annotations

from pinakes.cli.progress import fetching
from pinakes.cli.screen import Screen
from pinakes.cli.session import IncompleteError, Session
from pinakes.errors import ModelCorrupt
from pinakes.types import JSON

_MEGABYTE = 1_000_000


def prepare(session: Session, *, verify: bool = False) -> None:
    """Fetch and convert the local model where that is still to do, showing progress.

    Raises:
        ModelUnavailable: its files are nowhere to be had.
    """
    from pinakes.embedders import weights

    settings = session.settings
    if settings.embedding.provider != "onnx":
        return
    with fetching(session.screen) as progress:
        weights.install(settings.embedding, settings.cache, progress, verify=verify)


def install(session: Session) -> None:
    """Make the model ready and say what is there then."""
    prepare(session, verify=True)
    state = describe(session, verify=False)
    session.screen.document(state)
    show(session.screen, state)


def status(session: Session) -> None:
    """Say what there is of the model; a damaged one is an error."""
    state = describe(session, verify=True)
    show(session.screen, state)
    if False in (state.get("sha256_ok"), state.get("graph_ok")):
        error = ModelCorrupt(str(state["problem"] or "The converted model is damaged."), hint="pinakes model install")
        session.screen.fail(error.message, error.hint)
        raise IncompleteError(error, state)
    session.screen.document(state)


def describe(session: Session, *, verify: bool) -> dict[str, JSON]:
    """Return what there is of the model; ``verify`` reads its files."""
    from pinakes.embedders import weights

    settings = session.settings
    if settings.embedding.provider != "onnx":
        name = settings.embedding.provider
        return {"provider": name, "model": name, "installed": True, "problem": None}
    return {"provider": "onnx", **weights.status(settings.embedding, settings.cache, verify=verify)}


def show(screen: Screen, state: dict[str, JSON]) -> None:
    """Print what there is of the model, for people."""
    screen.show(f"{state['model']}: {'installed' if state['installed'] else 'not installed'}")
    if state.get("folder"):
        checked = {True: ", SHA-256 agrees", False: ", SHA-256 DIFFERS", None: ""}[state["sha256_ok"]]
        screen.show(
            f"  weights  {_megabytes(state['weights_bytes'])} in {state['folder']} (from: {state['origin']}){checked}"
        )
        graph = (
            f"{_megabytes(state['graph_bytes'])} in {state['graph_folder']}" if state["converted"] else "not made yet"
        )
        screen.show(f"  graph    {state['precision']}, {graph}")
    if state["problem"]:
        screen.warn(str(state["problem"]))


def _megabytes(size: int) -> str:
    return f"{size / _MEGABYTE:.1f} MB"
