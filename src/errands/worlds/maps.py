"""Maps from a map seed: a tiny random stream of our own, so that a seed means the same map on every platform."""

from __future__ import annotations

from collections.abc import Iterator

from errands.errors import SpecError

_WORD = (1 << 64) - 1
_DEFAULT_SIZE = 10
_DEFAULT_PLACES = 30


def words(seed: int) -> Iterator[int]:
    """The endless splitmix64 stream of a seed: 64 random bits at a time."""
    state = seed & _WORD
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _WORD
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _WORD
        yield mixed ^ (mixed >> 31)


def units(seed: int) -> Iterator[float]:
    """The endless stream of a seed as numbers in [0, 1)."""
    return ((word >> 11) * 2.0**-53 for word in words(seed))


def distinct_cells(seed: int, cells: int, count: int) -> tuple[int, ...]:
    """The first `count` entries of the seed's permutation of the cells; a larger count only adds to them."""
    order = list(range(cells))
    stream = words(seed)
    for i in range(count):
        j = i + ((next(stream) * (cells - i)) >> 64)
        order[i], order[j] = order[j], order[i]
    return tuple(order[:count])


def grid_size(places: int, size: int | None = None) -> int:
    """The side of a square grid: 10 up to 30 places, then the smallest side with four cells to a place."""
    if size is not None:
        if size * size < places + 2:
            raise SpecError(f"a grid of {size} x {size} cells cannot hold {places} places and a start; make it larger")
        return size
    if places <= _DEFAULT_PLACES:
        return _DEFAULT_SIZE
    chosen = _DEFAULT_SIZE
    while chosen * chosen < 4 * places:
        chosen += 1
    return chosen


def grid_limit(places: int, size: int, limit: int | None = None) -> int:
    """Steps before truncation: the limit asked for, or 1000, or ten sides of the grid to a place where that is more."""
    chosen = max(1000, 10 * places * size) if limit is None else limit
    return positive("limit", chosen)


def positive(name: str, number: int) -> int:
    """The number itself where it is at least 1; otherwise a SpecError that names it."""
    if number < 1:
        raise SpecError(f"{name} is {number}, and must be at least 1")
    return number
