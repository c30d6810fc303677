"""Tokens found word by word are those of the tokenizer, for any text and any tokenizer."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from bert_reference import WORDS, make_tiny_bert
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

from pinakes.embedders import token_ids
from pinakes.embedders.bert import BertEmbedder
from pinakes.embedders.token_ids import TokenIds
from pinakes.settings import EmbeddingSettings

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
PIECES = ["fox", "##es", "Fox", "über", "uber", "東", "京", "é", "e", "=", "-", ".", "a", "b", "##b", "ab", "A", "2"]
ODD = [
    *("\x00", "\x0b", "\x0c", "\x1c", "\x1f", "\x85", "\xa0", "\xad", "\u0301", "\u0338", "\u2028", "\u200b", "\u3000"),
    *("\ufffd", "\ufeff", "≠", "İ", "ß", "Σ", "ﬁ", "東京", "é", "e\u0301", "\U0001f600", "—", "«", "．", "！"),
    *("[MASK]", "[mask]", "[", "MASK", "]", "[SEP]", "@x", "Foxes", "ÜBER", "a.b", "--", "AB", " ", "\n", "\t", "\r\n"),
    "b" * 101,
    "ab" * 50,
]
TEXTS = st.lists(st.one_of(st.sampled_from(ODD), st.text(max_size=8)), max_size=25).map("".join)


def tokenizer(normalizer: normalizers.Normalizer | None, split: pre_tokenizers.PreTokenizer) -> Tokenizer:
    numbers = {piece: number for number, piece in enumerate(SPECIAL + PIECES)}
    made = Tokenizer(models.WordPiece(numbers, unk_token="[UNK]"))
    made.normalizer = normalizer
    made.pre_tokenizer = split
    made.add_special_tokens(SPECIAL)
    return made


def with_a_word_of_its_own() -> Tokenizer:
    made = tokenizer(normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer())
    made.add_tokens([AddedToken("@x", normalized=True), AddedToken("--", normalized=False)])
    return made


BERT = pre_tokenizers.BertPreTokenizer
TOKENIZERS = {
    "uncased": tokenizer(normalizers.BertNormalizer(), BERT()),
    "cased": tokenizer(normalizers.BertNormalizer(lowercase=False), BERT()),
    "accents kept": tokenizer(normalizers.BertNormalizer(strip_accents=False), BERT()),
    "controls kept": tokenizer(normalizers.BertNormalizer(clean_text=False), BERT()),
    "composing": tokenizer(normalizers.NFC(), BERT()),
    "parted at spaces only": tokenizer(normalizers.BertNormalizer(), pre_tokenizers.WhitespaceSplit()),
    "bare": tokenizer(None, pre_tokenizers.Whitespace()),
    "with added words": with_a_word_of_its_own(),
}


def own(made: Tokenizer, text: str) -> list[int]:
    ids: list[int] = made.encode(text, add_special_tokens=False).ids
    return sorted(ids)


def by_words(ids: TokenIds, texts: list[str]) -> list[list[int]]:
    found, offsets = ids.of(texts)
    assert (found.dtype, offsets.dtype, offsets[0], offsets[-1]) == (np.int32, np.int64, 0, len(found))
    return [sorted(found[begin:end].tolist()) for begin, end in pairwise(offsets)]


@pytest.mark.parametrize("name", TOKENIZERS)
@given(texts=st.lists(TEXTS, max_size=6))
def test_any_text_has_the_tokens_of_the_tokenizer(name: str, texts: list[str]) -> None:
    made = TOKENIZERS[name]
    fresh = TokenIds(made)
    expected = [own(made, text) for text in texts]
    assert by_words(fresh, texts) == expected
    assert by_words(fresh, texts[::-1]) == expected[::-1]


def test_whatever_the_character_a_text_has_the_tokens_of_the_tokenizer() -> None:
    made = TOKENIZERS["uncased"]
    codes = [*range(0x3400), *range(0x3400, 0xD800, 19), *range(0xE000, 0x30000, 19)]
    texts = [f"fox{chr(code)}es a{chr(code)} b" for code in codes]
    encodings = made.encode_batch_fast(texts, add_special_tokens=False)
    assert by_words(TokenIds(made), texts) == [sorted(encoding.ids) for encoding in encodings]


def test_a_word_too_long_for_the_model_is_one_unknown_token() -> None:
    assert by_words(TokenIds(TOKENIZERS["uncased"]), ["b" * 1_000_000, "東" * 3]) == [
        [1],
        [SPECIAL.index("[MASK]") + 6] * 3,
    ]


def test_no_texts_and_empty_ones_have_no_tokens() -> None:
    ids = TokenIds(TOKENIZERS["uncased"])
    assert by_words(ids, []) == []
    assert by_words(ids, ["", "fox", " \n", "."]) == [[], [5], [], [PIECES.index(".") + len(SPECIAL)]]


def test_tokens_stay_right_when_more_words_come_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_ids, "_REMEMBERED", 50)
    made = TOKENIZERS["uncased"]
    ids = TokenIds(made)
    texts = [f"fox a{number} {'ab' * number}. {number % 7}" for number in range(300)]
    for _ in range(2):
        assert by_words(ids, texts) == [own(made, text) for text in texts]


def test_threads_that_learn_words_at_once_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_ids, "_REMEMBERED", 500)
    made = TOKENIZERS["uncased"]
    ids = TokenIds(made)
    texts = [f"fox w{number % 900}, ab{number} [MASK] é" for number in range(3000)]
    expected = [own(made, text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        found = pool.map(lambda turn: by_words(ids, texts[turn * 100 :] + texts[: turn * 100]), range(16))
        for turn, each in enumerate(found):
            assert each == expected[turn * 100 :] + expected[: turn * 100]


def test_the_embedder_reads_lone_surrogates_as_embedding_does(tmp_path: Path) -> None:
    folder = make_tiny_bert(tmp_path / "tiny")
    embedder = BertEmbedder(EmbeddingSettings(model="acme/tiny", path=folder), tmp_path)
    found, offsets = embedder.token_ids(["quick \ud800fox\udfff.", "\ud83d\ude00", "dog"])
    words = [WORDS.index(word) + len(SPECIAL) - 1 for word in ("quick", "fox", "dog")]
    assert found[:2].tolist() + found[-1:].tolist() == words
    assert offsets.tolist() == [0, 3, 3, 4]
