"""``python -m benchmarks.postgres.text_search``: nDCG@10 on Cranfield of PostgreSQL's text search, by its two ranks.

Any word of a question is enough for a match; titles weigh A, texts D; ranks are divided by 1 + the logarithm of length.
"""

from __future__ import annotations

import gzip
import json

import psycopg

from benchmarks.postgres.databases import server
from benchmarks.quality.sets import DATA
from pinakes.evaluation.metrics import ndcg
from pinakes.evaluation.questions import read_beir

_BEST = 10
_ASK = """
SELECT id FROM docs,
    (SELECT replace(plainto_tsquery('english', %(text)s)::text, ' & ', ' | ')::tsquery AS asked) AS question
WHERE words @@ asked ORDER BY {}(words, asked, 1) DESC, id LIMIT 10
"""


def main() -> None:
    """Measure and print."""
    folder = DATA / "cranfield"
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    questions = read_beir(folder)
    with server() as url, psycopg.connect(url, autocommit=True) as session:
        session.execute("CREATE TEMPORARY TABLE docs (id text, words tsvector)")
        put = "INSERT INTO docs SELECT %s, setweight(to_tsvector('english', %s), 'A') || to_tsvector('english', %s)"
        session.cursor().executemany(put, [(str(one["_id"]), one["title"], one["text"]) for one in documents])
        for rank in ("ts_rank", "ts_rank_cd"):
            scores = []
            for one in questions:
                rows = session.execute(_ASK.format(rank), {"text": one.text}).fetchall()
                scores.append(ndcg([name for (name,) in rows], one.relevant, _BEST))
            print(f"{rank:<11} nDCG@{_BEST} {sum(scores) / len(scores):.3f} of {len(scores)} questions")


if __name__ == "__main__":
    main()
