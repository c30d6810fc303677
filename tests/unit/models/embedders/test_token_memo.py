"""Tokens found piece by piece are those of the tokenizer, for any text and any tokenizer."""

from __future__ import annotations

import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from bert_reference import WORDS, make_tiny_bert
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import AddedToken, Tokenizer, models, normalizers, pre_tokenizers

from pinakes.models import token_memo
from pinakes.models.embedders.bert import BertEmbedder
from pinakes.models.token_memo import TokenMemo
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


def own(made: Tokenizer, texts: list[str]) -> list[list[tuple[int, int]]]:
    """Return the (start, id) of the tokens of each text, by the tokenizer itself."""
    encodings = made.encode_batch(texts, add_special_tokens=False)
    return [[(start, number) for (start, _), number in zip(each.offsets, each.ids, strict=True)] for each in encodings]


def agrees(memo: TokenMemo, texts: list[str], expected: list[list[tuple[int, int]]]) -> None:
    ids, offsets = memo.ids(texts)
    assert [each.dtype for each in (ids, offsets)] == [np.dtype(np.int32), np.dtype(np.int64)]
    assert (offsets[0], offsets[-1]) == (0, len(ids))
    found = [sorted(ids[begin:end].tolist()) for begin, end in pairwise(offsets)]
    assert found == [sorted(number for _, number in tokens) for tokens in expected]
    for text, tokens in zip(texts, expected, strict=True):
        starts = memo.starts(text)
        assert starts.dtype == np.int64
        assert starts.tolist() == [start for start, _ in tokens]


@pytest.mark.parametrize("name", TOKENIZERS)
@given(texts=st.lists(TEXTS, max_size=6))
@settings(max_examples=30)
def test_any_text_has_the_tokens_of_the_tokenizer(name: str, texts: list[str]) -> None:
    made = TOKENIZERS[name]
    memo = TokenMemo(made)
    expected = own(made, texts)
    agrees(memo, texts, expected)
    agrees(memo, texts[::-1], expected[::-1])


@pytest.mark.parametrize("name", TOKENIZERS)
def test_whatever_the_character_a_text_has_the_tokens_of_the_tokenizer(name: str) -> None:
    made = TOKENIZERS[name]
    step = 1 if name == "uncased" else 7
    codes = [*range(0, 0x3400, step), *range(0x3400, 0xD800, 19 * step), *range(0xE000, 0x30000, 19 * step)]
    words = [f"fox{chr(code)}es a{chr(code)}.{chr(code)} b" for code in codes]
    texts = [" ".join(words[begin : begin + 16]) for begin in range(0, len(words), 16)]
    agrees(TokenMemo(made), texts, own(made, texts))


def test_a_text_with_a_token_of_its_own_kind_is_as_the_tokenizer_sees_it() -> None:
    made = TOKENIZERS["uncased"]
    texts = ["a.[MASK]b [SEP]", "[mask] a.b", "fox\x0bes [PAD]\x0c.a", "é[MASK]東.a", "a [MASK", "MASK] a[MA SK]"]
    agrees(TokenMemo(made), texts, own(made, texts))


def test_a_word_too_long_for_the_model_is_one_unknown_token_for_each_part_it_is_read_in() -> None:
    memo = TokenMemo(TOKENIZERS["uncased"])
    unknown, mask = SPECIAL.index("[UNK]"), SPECIAL.index("[MASK]") + 6
    ids, offsets = memo.ids(["b" * 8_192, "東" * 3, "b" * 100_000])
    assert offsets[:3].tolist() == [0, 1, 4]
    assert ids[:4].tolist() == [unknown, mask, mask, mask]
    assert set(ids[4:].tolist()) == {unknown}
    starts = memo.starts("é" + "b" * 100_000 + " fox")
    assert (starts[0], starts[-1], len(starts)) == (0, 100_002, len(ids) - 4 + 1)
    assert (np.diff(starts[:-1]) == 8_192).all()


def test_a_line_of_many_characters_without_a_space_is_as_the_tokenizer_sees_it() -> None:
    made = TOKENIZERS["uncased"]
    texts = ["東京" * 10_000, "é.東—fox" * 5_000]
    agrees(TokenMemo(made), texts, own(made, texts))


def test_no_texts_and_empty_ones_have_no_tokens() -> None:
    memo = TokenMemo(TOKENIZERS["uncased"])
    agrees(memo, [], [])
    dot = PIECES.index(".") + len(SPECIAL)
    agrees(memo, ["", "fox", " \n", "."], [[], [(0, 5)], [], [(0, dot)]])


def test_tokens_stay_right_when_more_words_come_than_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_memo, "_REMEMBERED", 50)
    made = TOKENIZERS["uncased"]
    memo = TokenMemo(made)
    texts = [f"fox a{number} {'ab' * number}. {number % 7}" for number in range(300)]
    for _ in range(2):
        agrees(memo, texts, own(made, texts))


def test_what_is_remembered_stays_small_however_much_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_memo, "_REMEMBERED", 50)
    memo = TokenMemo(TOKENIZERS["uncased"])
    memo.starts("fox")
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for number in range(30):
        memo.starts(" ".join(f"fox{number * 100 + each}" for each in range(100)))
        memo.starts(chr(0x4E00 + number) * 500)
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert held < 50_000


def test_threads_that_learn_words_at_once_find_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_memo, "_REMEMBERED", 200)
    made = TOKENIZERS["uncased"]
    memo = TokenMemo(made)
    texts = [f"fox w{number % 450}, ab{number} [MASK] é" for number in range(600)]
    expected = own(made, texts)
    with ThreadPoolExecutor(8) as pool:
        turned = [(texts[cut:] + texts[:cut], expected[cut:] + expected[:cut]) for cut in range(0, 320, 40)]
        list(pool.map(lambda each: agrees(memo, *each), turned))


def test_the_embedder_reads_lone_surrogates_as_embedding_does(tmp_path: Path) -> None:
    folder = make_tiny_bert(tmp_path / "tiny")
    embedder = BertEmbedder(EmbeddingSettings(model="acme/tiny", path=folder), tmp_path)
    texts = ["quick \ud800fox\udfff.", "\ud83d\ude00", "dog"]
    found, offsets = embedder.token_ids(texts)
    words = [WORDS.index(word) + len(SPECIAL) - 1 for word in ("quick", "fox", "dog")]
    assert found[:2].tolist() + found[-1:].tolist() == words
    assert offsets.tolist() == [0, 3, 3, 4]
    assert [embedder.token_starts(text).tolist() for text in texts] == [[0, 7, 11], [], [0]]
