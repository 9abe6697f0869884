"""The plainest high level: each machine state acts for itself."""

import jax
import jax.numpy as jnp
import pytest

from errands.learners.deep.high import Own

NONE = jnp.zeros(0)


@pytest.mark.parametrize(("single", "head"), [(False, 5), (True, 0)])
def test_the_head_is_the_machine_state_or_the_only_one(single, head):
    own = Own(single)
    memory = own.start(jax.random.PRNGKey(0))
    memory, picked = own.pick(memory, jnp.int32(5), NONE, NONE, NONE)
    assert int(picked) == head
    assert int(own.best(memory, jnp.int32(3), jnp.int32(9), jnp.int32(5), NONE, NONE)) == head


def test_nothing_is_remembered_drawn_or_added():
    own = Own()
    memory = own.start(jax.random.PRNGKey(0))
    assert (own.uniforms, own.extra, memory) == (0, 0, ())
    kept, extra = own.replay(memory, jnp.int32(7), NONE)
    assert kept == own.note(memory, None) == ()
    assert [part.shape for part in extra] == [(0,)] * 4
