"""The ways that copies come back to, by hand: ten copies in eight groups, so copies 0 and 8 share a group, as do 1 and 9."""

from __future__ import annotations

import numpy as np
import pytest

jnp = pytest.importorskip("jax.numpy")

from errands.learners.engines.ways import Ways  # noqa: E402

ENVS, LONGEST = 10, 4
YES, NO = np.ones(ENVS, bool), np.zeros(ENVS, bool)


def after(ways: Ways, action: list[int], time: int, success: list[int], share: float = 0.0, uniform: float = 0.0):  # type: ignore[no-untyped-def]
    won = np.isin(np.arange(ENVS), success)
    actions, times = np.array(action, np.float32)[:, None], np.full(ENVS, time, np.int32)
    return ways.after(actions, times, won, won, share, np.full((ENVS, 2), uniform, np.float32))


def test_a_copy_follows_the_way_of_its_group_for_as_long_as_it_is_led() -> None:
    way = np.arange(8)[:, None] * 100 + np.arange(LONGEST)
    ways = Ways.none(ENVS, LONGEST)._replace(way=jnp.asarray(way), led=jnp.asarray([0, 3, 2, 0, 0, 0, 0, 0, 1, 4]))
    own = np.full((ENVS, 1), 9.0, np.float32)
    for time, expected in ((0, {1: 100, 2: 200, 8: 0, 9: 100}), (2, {1: 102, 9: 102}), (3, {9: 103})):
        done = np.asarray(ways.action(own, np.full(ENVS, time, np.int32)))[:, 0]
        assert {i: int(a) for i, a in enumerate(done) if a != 9} == expected


def test_the_shortest_way_of_a_group_is_kept_and_only_whole_ones() -> None:
    ways = Ways.none(ENVS, LONGEST)
    ways, _ = after(ways, [*range(200, 210)], 0, [])
    ways, _ = after(ways, [*range(30, 40)], 1, [8])
    assert np.asarray(ways.length).tolist() == [2] + [LONGEST + 1] * 7
    assert np.asarray(ways.way)[0, :2].tolist() == [208, 38]
    # A longer one changes nothing, one as short takes its place, and one that began elsewhere does not count.
    longer, _ = after(ways, [1] * ENVS, 2, [0])
    assert (np.asarray(longer.length)[0], np.asarray(longer.way)[0, :2].tolist()) == (2, [208, 38])
    equal, _ = after(ways, [77] * ENVS, 1, [0])
    assert (np.asarray(equal.length)[0], np.asarray(equal.way)[0, :2].tolist()) == (2, [200, 77])
    elsewhere, _ = after(ways._replace(whole=jnp.asarray(NO)), [77] * ENVS, 0, [0, 1])
    assert np.asarray(elsewhere.length).tolist() == np.asarray(ways.length).tolist()


def test_the_share_that_comes_back_leaves_its_way_somewhere_on_it() -> None:
    ways, _ = after(Ways.none(ENVS, LONGEST), [1] * ENVS, 2, [0])
    for share, uniform, back, led in ((0.5, 0.4, [0, 8], 1), (0.5, 0.6, [], 0), (1.0, 0.99, [0, 8], 2)):
        # Whoever's episode is over without success may come back as well; groups without a way cannot.
        actions, times = np.ones((ENVS, 1), np.float32), np.zeros(ENVS, np.int32)
        then, which = ways.after(actions, times, YES, NO, share, np.full((ENVS, 2), uniform, np.float32))
        assert np.flatnonzero(np.asarray(which)).tolist() == back
        assert set(np.asarray(then.led)[back].tolist()) <= {led}
