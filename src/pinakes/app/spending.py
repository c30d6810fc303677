"""The estimated cost of embedding by a provider, and the check that asks before much is spent."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from shlex import quote

from pinakes.catalog import Catalog, embeddings
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import TooCostly
from pinakes.core.ports import Embedder, Remote
from pinakes.core.records import Spent
from pinakes.ingestion.report import Report
from pinakes.settings import EmbeddingSettings

_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What it takes to embed the ``texts`` of a collection that wait, by estimate: rather too much than too little.

    ``dollars`` is None where the price is not known. ``asks``: it is more than may be spent unasked.
    """

    collection: str
    model: str
    texts: int
    tokens: int
    dollars: float | None
    asks: bool

    def words(self) -> str:
        """Say it in words: "1,234 chunks, about 410,000 tokens, $0.05 by openai/…"."""
        price = "price not known" if self.dollars is None else f"about ${self.dollars:,.2f}"
        return f"{self.texts:,} chunks, about {self.tokens:,} tokens, {price} by {self.model}"


@dataclass(frozen=True, slots=True)
class Charge:
    """What providers were asked: requests, tokens as they count them, and US dollars, None = a price is not known."""

    requests: int = 0
    tokens: int = 0
    dollars: float | None = 0.0

    def words(self) -> str:
        """Say it in words, "" where none was asked."""
        price = "price not known" if self.dollars is None else f"${self.dollars:,.4f}"
        return f"{self.requests:,} requests, {self.tokens:,} tokens, {price}" if self.requests else ""


class Charges:
    """What this thread has providers do from now on; ``embedders`` gives all that are open."""

    def __init__(self, embedders: Callable[[], Sequence[Embedder]]) -> None:
        self._embedders = embedders
        self._before = {id(one): one.spent() for one in embedders() if isinstance(one, Remote)}

    def since(self) -> Charge:
        """Return all of it so far."""
        total = Charge()
        for one in self._embedders():
            if isinstance(one, Remote) and (spent := one.spent().since(self._before.get(id(one), Spent()))).requests:
                cost = dollars(one, spent.tokens)
                both = None if total.dollars is None or cost is None else total.dollars + cost
                total = Charge(total.requests + spent.requests, total.tokens + spent.tokens, both)
        return total

    def put_into(self, report: Report) -> None:
        """Have ``report`` say what there is so far."""
        charge = self.since()
        report.requests, report.tokens, report.dollars = charge.requests, charge.tokens, charge.dollars


def dollars(embedder: Embedder, tokens: int) -> float | None:
    """Return what so many tokens cost, 0 where a model runs here; None where the price is not known."""
    if not isinstance(embedder, Remote):
        return 0.0
    price = embedder.price_per_million
    return None if price is None else tokens * price / _MILLION


def asks(embedder: Embedder, tokens: int, settings: EmbeddingSettings) -> bool:
    """Say whether so many tokens cost more than is spent unasked."""
    if not isinstance(embedder, Remote):
        return False
    cost = dollars(embedder, tokens)
    if cost is None and embedder.hosted:
        return tokens > settings.ask_above_tokens
    return (cost or 0.0) > settings.ask_above


def estimate(
    catalog: Catalog, record: CollectionRecord, embedder: Embedder, settings: EmbeddingSettings, most: int | None = None
) -> CostEstimate | None:
    """Return what it takes to embed what waits in a collection, None where nothing does or the model runs here.

    ``most``: no more texts than this are embedded.
    """
    if not isinstance(embedder, Remote):
        return None
    with catalog.read() as connection:
        texts, tokens = embeddings.waiting(connection, record.id, record.model_id)
    if most is not None and texts > most:
        texts, tokens = most, tokens * most // texts
    if not texts:
        return None
    model = record.fingerprint or embedder.fingerprint
    return CostEstimate(record.name, model, texts, tokens, dollars(embedder, tokens), asks(embedder, tokens, settings))


def check(found: CostEstimate | None) -> None:
    """Let pass what may be spent unasked.

    Raises:
        TooCostly: it is more.
    """
    if found is not None and found.asks:
        raise TooCostly(
            f"Embedding collection {found.collection!r} takes {found.words()}: more than is spent unasked.",
            hint=f"Agree to it: pinakes reindex --embed --yes -c {quote(found.collection)}. Or raise "
            "embedding.ask_above (US dollars) or embedding.ask_above_tokens.",
        )
