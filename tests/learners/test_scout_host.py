"""Scout on Gymnasium environments: FrozenLake with and without slipping, Taxi, by their tables and by the host loop."""

from __future__ import annotations

from functools import partial
from typing import Any

import gymnasium as gym
import pytest

from errands.errors import TaskError
from errands.learners.scout.settings import ScoutConfig
from errands.learners.scout.tabular import Scout
from errands.oracle.certificate import certificate
from errands.oracle.optimum import optimum
from errands.tasks import Task


def lake(slippery: str) -> Task:
    return Task.from_toml(f"""name = "lake"
[world]
kind = "gymnasium"
id = "FrozenLake-v1"
kwargs = {{ is_slippery = {slippery} }}
features = {{ corner = [3], goal = [15] }}
[machine]
phrase = "sequence(corner, goal)"
""")


def taxi() -> Task:
    name = sorted(key for key in gym.registry if key.startswith("Taxi"))[-1]
    riding = [((cell * 5) + 4) * 4 + there for cell in range(25) for there in range(4)]
    home = [who * 4 + there for who in range(5) for there in range(4)]
    return Task.from_toml(f"""name = "taxi"
[world]
kind = "gymnasium"
id = "{name}"
features = {{ riding = {riding}, home = {home} }}
[machine]
phrase = "sequence(riding, home)"
""")


def trained(task: Task, steps: int, host: bool, seed: int = 0) -> Scout:
    scout = Scout(task, ScoutConfig(host=host, eval_every=steps // 2), seed)
    list(scout.train(steps))
    return scout


@pytest.mark.parametrize("host", [False, True])
def test_a_frozen_lake_without_slipping_is_certified(host: bool) -> None:
    task = lake("false")
    scout = trained(task, 300, host)
    assert scout.claim.proved
    assert scout.claim.upper == optimum(task).length == scout.evaluate().episode_length
    assert ("as long as moves are certain" in scout.claim.reason) is host


@pytest.mark.parametrize(("host", "steps", "share"), [(False, 20_000, 0.99), (True, 8_000, 0.75)])
def test_a_slippery_lake_is_found_to_be_random_and_crossed_nearly_as_well_as_can_be(
    host: bool, steps: int, share: float
) -> None:
    # So long a limit that the best policy need not look at the clock, which no policy of Scout's does.
    scout = trained(Task.from_toml(lake("true").to_toml().replace("[machine]", "limit = 1000\n[machine]")), steps, host)
    assert scout.random
    assert not scout.claim.proved
    best = optimum(scout.task, 0.99).discounted
    assert best is not None
    assert certificate(scout.policy, scout.task, 0.99).discounted >= share * best


@pytest.mark.parametrize("host", [False, True])
def test_a_taxi_is_driven_from_every_start_but_the_starts_themselves_are_not_proved(host: bool) -> None:
    task = taxi()
    scout = trained(task, 20_000, host)
    claim = scout.claim
    assert not claim.proved
    assert "were met" in claim.conditional_on
    assert scout.evaluate().success
    best = optimum(task, 0.99).discounted
    assert best is not None
    assert claim.lower < best < claim.upper


class Row(gym.Env[int, int]):
    """Five cells in a row, whose episodes start in one of two; `slip`: how often a move goes nowhere."""

    observation_space, action_space = gym.spaces.Discrete(5), gym.spaces.Discrete(2)

    def __init__(self, slip: float) -> None:
        self.slip = slip

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self.cell = 0 if self.slip else int(self.np_random.integers(2))
        return self.cell, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        if self.np_random.random() >= self.slip:
            self.cell = max(0, min(4, self.cell + 2 * int(action) - 1))
        return self.cell, 0.0, False, False, {}


def test_a_claim_of_a_world_that_was_stepped_says_what_it_takes_for_granted() -> None:
    """A proof within the first episode has seen one start; where moves are random nobody says that they are certain."""
    proved, chance = (
        Scout(Task.from_env(partial(Row, slip), {"g": [4]}, "g", state=int), ScoutConfig(), 4)
        for slip in (0.0, 0.4)
    )
    proved.advance(100)
    assert proved.claim.proved
    assert proved.claim.reason.endswith("as long as moves are certain and episodes start alike, as all have so far")
    chance.advance(3_000)
    assert chance.claim.gamma is not None
    assert "certain" not in chance.claim.reason + chance.claim.conditional_on


def test_both_loops_take_the_same_steps_where_moves_are_certain() -> None:
    table, host = (trained(lake("false"), 60, host) for host in (False, True))
    assert (table.known.tried == host.known.tried).all()
    assert (table.known.target[:, :, 0] == host.known.target[:, :, 0]).all()


@pytest.mark.parametrize("slippery", ["true", "false"])
def test_the_host_loop_continues_from_saved_arrays(slippery: str) -> None:
    whole = trained(lake(slippery), 400, host=True)
    first = Scout(lake(slippery), ScoutConfig(host=True, eval_every=200), 0)
    list(first.train(37))
    second = Scout(lake(slippery), ScoutConfig(host=True, eval_every=200), 5)
    second.restore(first.save())
    list(second.train(400))
    assert (whole.known.hits == second.known.hits).all()
    assert (whole.agent.at[:-1] == second.agent.at[:-1]).all()


def test_an_environment_without_numbered_observations_is_refused() -> None:
    text = (
        'name = "x"\n[world]\nkind = "gymnasium"\nid = "CartPole-v1"\nfeatures = { far = { index = 0, above = 1.0 } }\n'
    )
    task = Task.from_toml(text + '[machine]\nphrase = "sequence(far)"\n')
    with pytest.raises(TaskError, match="numbered observations"):
        Scout(task, ScoutConfig(), 0)
