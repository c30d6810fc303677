"""Vectors told from tokens: the fit keeps what it promises, and a saved map is read back or refused."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.core.errors import IndexCorrupt, InvalidInput, StorageFull
from pinakes.core.records import Float32
from pinakes.models.approximation import ApproximateMap, TokenRows, fit, sample

VOCABULARY, DIMENSION = 400, 24
Rows = list[list[int]]


def counted(rows: Rows) -> TokenRows:
    return TokenRows.from_ids(np.array(list(chain.from_iterable(rows)), np.int32), np.cumsum([0, *map(len, rows)]))


def unit(rows: Float32) -> Float32:
    scaled: Float32 = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    return scaled


class World:
    """A model whose vector of a text is the mean of hidden token vectors, and a prior that half knows them."""

    def __init__(self, seed: int = 0) -> None:
        self.random = np.random.default_rng(seed)
        self.hidden = self.random.standard_normal((VOCABULARY, DIMENSION)).astype(np.float32)
        blurred = self.hidden + self.random.standard_normal(self.hidden.shape)
        self.prior = unit(blurred.astype(np.float32))

    def texts(self, count: int) -> Rows:
        common_first = (VOCABULARY * self.random.random((count, 30)) ** 2).astype(int)
        return [row[: self.random.integers(8, 31)].tolist() for row in common_first]

    def exact(self, rows: Rows) -> Float32:
        return unit(np.array([self.hidden[row].mean(axis=0) for row in rows], np.float32) + 0.05)


@pytest.fixture
def world() -> World:
    return World()


def cosine(left: Float32, right: Float32) -> float:
    return float((left * right).sum(axis=1).mean())


def fitted(world: World, count: int = 150) -> tuple[ApproximateMap, Rows]:
    rows = world.texts(count)
    return fit(counted(rows), world.exact(rows), world.prior, "model"), rows


@given(st.lists(st.lists(st.integers(0, 40), max_size=30), max_size=8))
def test_tokens_are_counted_text_by_text(rows: Rows) -> None:
    tokens = counted(rows)
    assert len(tokens) == len(rows)
    for number, row in enumerate(rows):
        part = slice(tokens.offsets[number], tokens.offsets[number + 1])
        found = dict(zip(tokens.ids[part].tolist(), tokens.counts[part].tolist(), strict=True))
        assert found == {token: row.count(token) for token in row}
    assert [part.dtype.name for part in (tokens.ids, tokens.counts, tokens.offsets)] == ["int32", "float32", "int64"]


def test_unseen_texts_get_vectors_near_their_real_ones(world: World) -> None:
    rows = world.texts(300)
    exact = world.exact(rows)
    tokens = counted(rows)
    known = fitted(world)[0].apply(tokens)
    assert known.dtype == np.float32
    assert np.linalg.norm(known, axis=1) == pytest.approx(1, abs=1e-5)
    by_mean = unit(np.repeat(exact.mean(axis=0)[None], len(rows), axis=0))
    assert cosine(known, exact) > cosine(by_mean, exact) + 0.3
    assert cosine(known, exact) > 0.75


def test_prior_and_sample_together_are_better_than_either(world: World) -> None:
    rows, new = world.texts(150), world.texts(300)
    exact, tokens, target = world.exact(rows), counted(rows), world.exact(new)
    maps = {
        "both": fit(tokens, exact, world.prior),
        "prior": fit(tokens, exact, world.prior, ridge=1e6),
        "sample": fit(tokens, exact, np.zeros_like(world.prior)),
    }
    found = {name: cosine(one.apply(counted(new)), target) for name, one in maps.items()}
    assert found["both"] > found["prior"] + 0.02
    assert found["both"] > found["sample"] + 0.02


def test_the_dual_solution_is_the_one_of_the_normal_equations(world: World) -> None:
    rows = world.texts(60)
    tokens, exact, ridge = counted(rows), world.exact(rows), 0.4
    found = fit(tokens, exact, world.prior, ridge=ridge)
    weighted = np.zeros((len(rows), VOCABULARY))
    for number, row in enumerate(rows):
        for token in set(row):
            weighted[number, token] = np.sqrt(row.count(token)) * np.log(
                (len(rows) + 1) / (sum(token in other for other in rows) + 0.5)
            )
    weighted /= np.linalg.norm(weighted, axis=1, keepdims=True)
    centred, target = world.prior - world.prior.mean(axis=0), exact - exact.mean(axis=0)
    by_prior = weighted @ centred
    scale = (by_prior * target).sum() / (by_prior**2).sum()
    left = weighted.T @ weighted + ridge * np.eye(VOCABULARY)
    expected = scale * centred + np.linalg.solve(left, weighted.T @ (target - scale * by_prior))
    assert np.abs(found.table - expected).max() < 2e-3


def test_the_agreement_is_that_of_maps_fitted_without_each_text(world: World) -> None:
    """Near enough: the mean and the rarity of tokens stay those of all texts."""
    rows = world.texts(100)
    exact = world.exact(rows)
    whole = fit(counted(rows), exact, world.prior)
    cosines = []
    for out in range(len(rows)):
        others = [number for number in range(len(rows)) if number != out]
        one = fit(counted([rows[number] for number in others]), exact[others], world.prior)
        cosines.append(cosine(one.apply(counted([rows[out]])), exact[[out]]))
    assert whole.agreement == pytest.approx(np.mean(cosines), abs=0.02)
    assert cosine(whole.apply(counted(rows)), exact) > whole.agreement + 0.1


def test_a_vector_does_not_depend_on_the_texts_beside_it(world: World) -> None:
    known, _ = fitted(world)
    rows = world.texts(40)
    together = known.apply(counted(rows))
    alone = np.concatenate([known.apply(counted([row])) for row in rows])
    assert np.abs(together - alone).max() < 1e-6


def test_a_text_without_tokens_gets_the_direction_of_the_mean(world: World) -> None:
    known, rows = fitted(world)
    vector = known.apply(counted([rows[0], []]))[1]
    assert vector == pytest.approx(known.mean / np.linalg.norm(known.mean), abs=1e-6)


def test_no_texts_give_no_vectors(world: World) -> None:
    assert fitted(world)[0].apply(counted([])).shape == (0, DIMENSION)


def test_the_order_of_tokens_does_not_matter_but_their_number_does(world: World) -> None:
    known, _ = fitted(world)
    one, turned, more = known.apply(counted([[1, 200, 3], [3, 200, 1], [1, 200, 200, 200, 3]]))
    assert one == pytest.approx(turned)
    assert np.abs(one - more).max() > 0.01


def test_one_text_is_enough_to_fit(world: World) -> None:
    rows = world.texts(1)
    known = fit(counted(rows), world.exact(rows), world.prior)
    assert np.isfinite(known.apply(counted(world.texts(5)))).all()
    assert np.isfinite(known.agreement)


def test_the_same_text_twice_can_be_fitted(world: World) -> None:
    rows = world.texts(20) * 2
    known = fit(counted(rows), world.exact(rows), world.prior)
    assert cosine(known.apply(counted(rows)), world.exact(rows)) > 0.9


def test_what_does_not_go_together_is_refused(world: World) -> None:
    rows = world.texts(5)
    tokens, exact = counted(rows), world.exact(rows)
    with pytest.raises(InvalidInput, match="0 texts"):
        fit(counted([]), exact[:0], world.prior)
    with pytest.raises(InvalidInput, match=r"5 texts, vectors \(4, 24\)"):
        fit(tokens, exact[:4], world.prior)
    with pytest.raises(InvalidInput, match="prior"):
        fit(tokens, exact, world.prior[:, :8])


def test_a_token_outside_the_vocabulary_is_refused(world: World) -> None:
    known, rows = fitted(world)
    with pytest.raises(InvalidInput, match=f"Token {VOCABULARY} is outside"):
        known.apply(counted([[VOCABULARY]]))
    with pytest.raises(InvalidInput, match="outside a vocabulary of 3"):
        fit(counted(rows), world.exact(rows), world.prior[:3])


@given(st.integers(0, 300), st.integers(0, 300), st.integers(0, 3))
def test_a_sample_takes_one_text_of_each_stretch(total: int, count: int, seed: int) -> None:
    chosen = sample(total, count, seed)
    taken = min(count, total)
    assert chosen.dtype == np.int64
    assert len(chosen) == taken
    for number, row in enumerate(chosen.tolist()):
        assert number * total // taken <= row < (number + 1) * total // taken


def test_a_sample_is_reproducible_and_chosen_by_its_seed() -> None:
    assert sample(10_000, 100, 1).tolist() == sample(10_000, 100, 1).tolist()
    assert sample(10_000, 100, 1).tolist() != sample(10_000, 100, 2).tolist()


def test_a_map_read_back_gives_the_same_vectors(world: World, tmp_path: Path) -> None:
    known, rows = fitted(world)
    known.save(tmp_path / "map.npz")
    known.save(tmp_path / "map.npz")
    again = ApproximateMap.load(tmp_path / "map.npz", "model")
    assert (again.apply(counted(rows)) == known.apply(counted(rows))).all()
    assert (again.label, again.agreement) == ("model", known.agreement)
    assert [path.name for path in tmp_path.iterdir()] == ["map.npz"]


def test_a_map_of_another_model_is_refused(world: World, tmp_path: Path) -> None:
    fitted(world)[0].save(tmp_path / "map")
    with pytest.raises(IndexCorrupt, match="it is of 'model', format 2, not of 'other'"):
        ApproximateMap.load(tmp_path / "map", "other")


@pytest.mark.parametrize("share", [0, 0.1, 0.3, 0.5, 0.7, 0.9, 1])
def test_a_damaged_map_is_refused(world: World, tmp_path: Path, share: float) -> None:
    path = tmp_path / "map"
    fitted(world)[0].save(path)
    whole = path.read_bytes()
    place = int((len(whole) - 1) * share)
    path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
    with pytest.raises(IndexCorrupt, match="cannot be used"):
        ApproximateMap.load(path, "model")
    path.write_bytes(whole[:place])
    with pytest.raises(IndexCorrupt, match="cannot be used"):
        ApproximateMap.load(path, "model")


def test_a_map_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(IndexCorrupt, match="No such file"):
        ApproximateMap.load(tmp_path / "map", "model")


def test_a_map_that_cannot_be_written_is_said_so(world: World, tmp_path: Path) -> None:
    with pytest.raises(StorageFull, match="cannot be written"):
        fitted(world)[0].save(tmp_path / "nowhere" / "map")
