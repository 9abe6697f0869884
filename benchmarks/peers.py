"""errands beside other reward-machine libraries, on one problem in one run: processor time of a step, steps to the optimum.

python benchmarks/peers.py --pycrm PYTHON --marl PYTHON [--places 2,4,8] [--steps 2000]
    PYTHON is the interpreter of an environment in which pyrewardmachines or multiagent-rl-rm is installed; without it the
    table says "not run"

The problem: visit N cells of a map of 10 x 10 in any order; moves are certain, an episode ends after 1,000 steps. All learn
from nothing with alpha 1, gamma 0.9, epsilon 0.1 and values that begin at 0. The others are given the machine of 2^N states,
errands a phrase.
This file is also what runs in the other environments, where there is no errands: `python peers.py child KIND < problem.json`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
ALPHA, GAMMA, EPSILON, LIMIT = 1.0, 0.9, 0.1, 1_000
Problem = dict[str, Any]


def moved(problem: Problem, cell: list[int], action: int) -> list[int]:
    """Where a move leads; off the map it leads nowhere."""
    row, column = cell[0] + MOVES[action][0], cell[1] + MOVES[action][1]
    inside = 0 <= row < problem["size"] and 0 <= column < problem["size"]
    return [row, column] if inside else cell


def masks(problem: Problem) -> list[int]:
    """The states of the machine, those with less done first."""
    return sorted(range(1 << len(problem["places"])), key=lambda mask: (mask.bit_count(), mask))


def clocked(step: Callable[[], int], steps: int) -> float:
    """Nanoseconds of processor time a step; `step` takes a few and says how many."""
    taken, begun = 0, time.process_time()
    while taken < steps:
        taken += step()
    return (time.process_time() - begun) / taken * 1e9


def pycrm(problem: Problem, steps: int) -> dict[str, float]:
    """PyCRM's two tabular agents."""
    from enum import Enum

    import gymnasium as gym
    import numpy as np
    from pycrm.agents.tabular.cql import CounterfactualQLearningAgent
    from pycrm.agents.tabular.ql import QLearningAgent
    from pycrm.automaton import RewardMachine
    from pycrm.crossproduct import CrossProduct
    from pycrm.label import LabellingFunction

    places = problem["places"]
    Event = Enum("Event", [f"V{i}" for i in range(len(places))])
    full = (1 << len(places)) - 1

    class Visit(RewardMachine):
        u_0 = 0

        def __init__(self) -> None:
            super().__init__(Event)

        def _table(self, of: Callable[[int], float]) -> dict[int, dict[str, float]]:
            table: dict[int, dict[str, float]] = {}
            for mask in range(full):
                row = {f"V{i}": of(mask | 1 << i) for i in range(len(places)) if not mask >> i & 1}
                table[mask] = {**row, "": of(mask)}
            return table

        def _get_state_transition_function(self) -> dict:
            return self._table(lambda mask: -1 if mask == full else mask)

        def _get_reward_transition_function(self) -> dict:
            return self._table(lambda mask: float(mask == full))

    class Labels(LabellingFunction):
        @LabellingFunction.event
        def place(self, obs: Any, action: Any, next_obs: Any) -> Any:
            cell = [int(next_obs[0]), int(next_obs[1])]
            return list(Event)[places.index(cell)] if cell in places else None

    class Grid(gym.Env):
        observation_space = gym.spaces.Box(0, problem["size"], (2,))
        action_space = gym.spaces.Discrete(4)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            self.cell = problem["start"]
            return np.array(self.cell), {}

        def step(self, action: int) -> Any:
            self.cell = moved(problem, self.cell, int(action))
            return np.array(self.cell), 0.0, False, False, {}

    class Product(CrossProduct):
        action_space = gym.spaces.Discrete(4)

    found = {}
    for name, agent_of in (("Q-learning", QLearningAgent), ("CRM", CounterfactualQLearningAgent)):
        env = Product(Grid(), Visit(), Labels(), LIMIT)
        env.max_steps = min(LIMIT, steps)
        agent = agent_of(env, EPSILON, ALPHA, GAMMA)

        def episode(agent: Any = agent, env: Any = env) -> int:
            with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):
                agent.learn(1)
            return int(env.steps)

        found[name] = clocked(episode, steps)
    return found


def marl(problem: Problem, steps: int) -> dict[str, float]:  # noqa: C901 - mostly classes that this library asks for
    """The tabular agents of multiagent-rl-rm, one agent; and the steps after which QR-MAX's greedy episode is optimal."""
    from marl import Lonely, with_agent
    from multiagent_rlrm.learning_algorithms.qlearning import QLearning
    from multiagent_rlrm.learning_algorithms.qrmax_v2 import QRMax_v2
    from multiagent_rlrm.multi_agent.event_detector import EventDetector

    places, size = problem["places"], problem["size"]
    full = (1 << len(places)) - 1

    class Detector(EventDetector):
        def detect_event(self, current_state: Any) -> Any:
            cell = [current_state["pos_x"], current_state["pos_y"]]
            return f"V{places.index(cell)}" if cell in places else None

    class Grid(Lonely):
        def step(self, actions: Any) -> Any:
            self.timestep += 1
            (agent,), before = self.agents, self.agents[0].get_state().copy()
            agent.set_position(*moved(problem, [before["pos_x"], before["pos_y"]], int(actions[agent.name].name)))
            after, name = agent.get_state().copy(), agent.name
            over = self.timestep >= min(LIMIT, steps)
            return {name: after}, {name: 0.0}, {name: False}, {name: over}, {name: {"prev_s": before, "s": after, "Renv": 0.0}}

    def made(algorithm: Any) -> Any:
        table = {
            (f"u{mask:04}", f"V{i}"): (f"u{mask | 1 << i:04}", float(mask | 1 << i == full))
            for mask in masks(problem) for i in range(len(places)) if not mask >> i & 1
        }  # fmt: skip
        machine, start = (table, Detector()), problem["start"]
        return with_agent(Grid(size, size), lambda at: at["pos_x"] * size + at["pos_y"], full + 1, 4, machine, start, algorithm)

    def episode(env: Any, agent: Any, best: bool = False) -> tuple[int, bool]:
        """The loop of its own example programs; `best` is a greedy one that teaches nothing."""
        algorithm = agent.get_learning_algorithm()
        states, _ = env.reset(0)
        if not best:
            algorithm.learn_init_episode()
        while True:
            action = agent.select_action(env.env.agents[0].get_state(), best)
            after, rewards, ended, cut, infos = env.step({agent.name: action})
            if not best:
                step = {"state": states["a"], "action": action, "reward": rewards["a"], "next_state": after["a"]}
                agent.update_policy(**step, terminated=ended["a"], infos=infos["a"])
            states = {"a": after["a"].copy()}
            if ended["a"] or cut["a"]:
                if not best:
                    algorithm.learn_done_episode()
                return env.env.timestep, ended["a"]

    found = {}
    common = {"state_space_size": size * size * (full + 1), "action_space_size": 4, "gamma": GAMMA, "seed": 0}
    for name, counterfactual in (("Q-learning", False), ("CRM", True)):
        algorithm = QLearning(
            action_selection="greedy", learning_rate=ALPHA, epsilon_start=EPSILON, epsilon_end=EPSILON, qtable_init=0,
            use_qrm=counterfactual, **common,
        )  # fmt: skip
        env, agent = made(algorithm)
        found[name] = clocked(lambda env=env, agent=agent: episode(env, agent)[0], steps)
    algorithm = QRMax_v2(q_space_size=full + 1, nsamplesTE=1, nsamplesRE=1, use_qrm=True, **common)
    env, agent = made(algorithm)
    taken, begun = 0, time.process_time()
    while time.process_time() - begun < problem["seconds"]:
        taken += episode(env, agent)[0]
        if episode(env, agent, best=True) == (problem["optimum"], True):
            return {**found, "steps": taken, "seconds": time.process_time() - begun}
    return found


def ours(problem: Problem, steps: int, rounds: int) -> dict[str, float]:
    """The same learners here, the best of some rounds; and the steps after which Scout has its proof."""
    from errands.learners import make_learner
    from errands.tasks import load

    task, found = load(problem["task"]), {}
    settings = {"alpha": ALPHA, "gamma": GAMMA, "epsilon": EPSILON, "q_init": 0.0}
    for name, learner in (("Q-learning", "qrm"), ("CRM", "crm")):
        costs = []
        for _ in range(rounds + 1):  # the first one compiles
            made = make_learner(task, learner, 0, "agenda", settings=settings)
            begun = time.process_time_ns()
            made.advance(steps)
            costs.append((time.process_time_ns() - begun) / steps)
        found[name] = min(costs[1:])
    for _ in range(2):
        spent = time.process_time()
        scout = make_learner(task, "scout", 0)
        list(scout.train(20_000))  # its proof ends it
        found["seconds"] = time.process_time() - spent
    assert scout.claim.proved
    return {**found, "steps": scout.claim.step}


def problem_of(places: int, seconds: float) -> Problem:
    """A task of the catalogue, in plain numbers."""
    import errands

    task = errands.load(f"visit-{places}")
    layout = task.world.layout  # type: ignore[attr-defined]
    return {
        "task": task.name, "size": layout.width, "start": divmod(layout.start, layout.width), "seconds": seconds,
        "places": [divmod(cell, layout.width) for _, cell in layout.places], "optimum": errands.optimum(task).length,
    }  # fmt: skip


def child(python: str | None, kind: str, problem: Problem, steps: int) -> dict[str, float]:
    """What another environment measures; nothing where there is none."""
    if python is None:
        return {}
    given = json.dumps({"problem": problem, "steps": steps})
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    words = [python, __file__, "child", kind]
    done = subprocess.run(words, input=given, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{kind}: {done.stderr.strip().splitlines()[-1]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    if sys.argv[1:2] == ["child"]:
        given = json.load(sys.stdin)
        print("\n" + json.dumps({"pycrm": pycrm, "marl": marl}[sys.argv[2]](given["problem"], given["steps"])))
        return
    read = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    read.add_argument("--pycrm")
    read.add_argument("--marl")
    read.add_argument("--places", default="2,4,8")
    read.add_argument("--steps", type=int, default=2_000)
    read.add_argument("--rounds", type=int, default=5)
    read.add_argument("--seconds", type=float, default=60.0, help="what QR-MAX may take")
    asked = read.parse_args()
    print(f"ns a step over the first {asked.steps:,} steps, and the ratio to errands")
    print("| places | learner | errands | PyCRM | multiagent-rl-rm |\n|---|---|---|---|---|")
    optimal = []
    for places in map(int, asked.places.split(",")):
        problem = problem_of(places, asked.seconds)
        here = ours(problem, asked.steps, asked.rounds)
        others = [child(asked.pycrm, "pycrm", problem, asked.steps), child(asked.marl, "marl", problem, asked.steps)]
        for name in ("Q-learning", "CRM"):
            cells = [f"{row[name]:,.0f} ({row[name] / here[name]:,.0f}x)" if name in row else "not run" for row in others]
            print(f"| {places} | {name} | {here[name]:,.0f} | {' | '.join(cells)} |", flush=True)
        theirs = others[1]
        said = f"{theirs['steps']:,.0f} in {theirs['seconds']:.1f} s" if "steps" in theirs else f"not within {asked.seconds:g} s"
        optimal.append(f"| {places} | {here['steps']:,} in {here['seconds']:.3f} s | {said if theirs else 'not run'} |")
    print("\nsteps until optimal: Scout's proof; QR-MAX's first optimal greedy episode (one try makes a pair known)")
    print("| places | Scout | QR-MAX |\n|---|---|---|", *optimal, sep="\n")


if __name__ == "__main__":
    main()
