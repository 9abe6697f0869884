"""Trees of arrays travel in few arrays and come back as they were."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from errands.learners.engines.deep.packing import SMALL, Layout

SHAPES = st.lists(st.integers(0, 4), max_size=3)
TYPES = st.sampled_from(["float32", "int32", "uint32", "bool"])


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(SHAPES, TYPES), max_size=6), st.integers(1, 3))
def test_what_is_packed_comes_back_with_every_number(forms, seeds):
    tree = {f"leaf {i}": jnp.asarray(np.random.default_rng(i).integers(0, 2, (seeds, *shape)).astype(name))
            for i, (shape, name) in enumerate(forms)}  # fmt: skip
    layout = Layout.of(tree)
    back = layout.unpack(layout.pack(tree))
    assert jax.tree.structure(back) == jax.tree.structure(tree)
    for name, leaf in tree.items():
        assert back[name].dtype == leaf.dtype
        np.testing.assert_array_equal(back[name], leaf)


def test_large_arrays_travel_alone_and_small_ones_by_type():
    small, large = jnp.ones((2, SMALL)), jnp.ones((2, SMALL + 1))
    tree = (small, large, small, jnp.int32([1, 2]), jnp.int32([3, 4]))
    packed = Layout.of(tree).pack(tree)
    assert packed[0] is large
    assert [array.shape for array in packed[1:]] == [(2, 2 * SMALL), (2, 2)]
    np.testing.assert_array_equal(packed[2], [[1, 3], [2, 4]])


def test_arrays_of_another_layout_are_not_taken_for_it():
    layout = Layout.of((jnp.ones(2), jnp.int32([1, 2])))
    with pytest.raises(ValueError, match="argument"):
        layout.unpack([jnp.ones((2, 1))])
