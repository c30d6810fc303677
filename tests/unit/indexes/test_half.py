"""Numbers of half precision become what NumPy makes of them, to the bit."""

from __future__ import annotations

import numpy as np

from pinakes.indexes.vector.vector_arrays import float32, largest

EVERY = np.arange(2**16, dtype=np.uint16).view(np.float16)
FINITE = EVERY[np.isfinite(EVERY)]


def test_every_finite_number_is_converted_exactly() -> None:
    assert len(FINITE) == 2 * 31 * 1024
    found = float32(FINITE.reshape(-1, 64))
    assert found.dtype == np.float32
    assert found.tobytes() == FINITE.astype(np.float32).tobytes(), "signs of zeros and the smallest included"


def test_the_largest_is_that_without_its_sign() -> None:
    assert largest(np.array([[0.5, -2.0], [1.5, -0.0]], np.float16)) == 2.0
    assert largest(FINITE) == 65504.0
