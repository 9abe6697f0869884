"""QR-MAX's OfficeWorld, where moves slip: Scout and QCoRM+ beside QR-MAX and QR-MAXRM.

python benchmarks/qrmax.py [--only 0-0,1-1] [--seeds 10] [--steps 40000] [--learners scout,qcorm-plus] [--marl PYTHON]
    PYTHON is the interpreter of an environment in which multiagent-rl-rm is installed; with it also the learners qr-max-rm
    and qr-max can be named. Their value iteration is replaced by the same sweeps in arrays; all else is the library's, with
    its published settings (39 tries, VIdelta 0.01, relative).

For each configuration: the seeds whose policy comes within 1 % (and 1e-6) of the optimal E[gamma^T] and stays there, the
median step from which on, the value at the end as a share of the optimum (median, least), and Scout's claim at the end, as
shares of the optimum too: the medians of both ends, and how many of the claims hold. One exact evaluator judges all
policies: the chain of the policy in the product of world and machine, solved.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np

GAMMA = 0.9
LOOKS = (*range(200, 4_001, 200), *range(4_500, 10_001, 500), *range(11_000, 40_001, 1_000), *range(50_000, 1_000_001, 10_000))
PUBLISHED = {
    (0, 0): (14_483, 4_150), (1, 1): (30_376, 10_964), (1, 2): (27_619, 9_339), (1, 3): (30_325, 6_087), (1, 4): (29_950, 6_062),
    (1, 5): (38_312, 4_107), (2, 1): (83_593, 28_729), (2, 2): (56_445, 19_214), (2, 3): (62_583, 12_415), (2, 4): (61_775, 12_445),
    (2, 5): (83_076, 8_396), (3, 1): (98_663, 33_815), (3, 2): (99_952, 33_853), (3, 3): (110_808, 21_856),
    (3, 4): (112_165, 21_869), (3, 5): (159_597, 14_717),
}  # fmt: skip
"""Steps of QR-MAX and QR-MAXRM by map and experiment: Table 4 (map 0: Table 6) of their paper, paper_results/ of Alee08/qrmax."""
NEVER = float("inf")
LEARNERS = ("scout", "qcorm-plus", "qr-max-rm", "qr-max")


Found = tuple[float, float, float, tuple[float, float]]
"""From when on one seed stays within 1 % and within 1e-6, its share of the optimum at the end, and what it claims."""


def summed(shares: list[float], steps: int, claim: tuple[float, float] = (0.0, NEVER)) -> Found:
    """What shares of the optimum at all looks come to."""
    near, exact = NEVER, NEVER
    for look, share in zip(LOOKS, shares, strict=False):
        near = min(near, look) if share >= 0.99 else NEVER
        exact = min(exact, look) if share >= 1.0 - 1e-6 else NEVER
    return near, exact, shares[-1], claim


def trained(task: Any, name: str, seed: int, steps: int, best: float) -> Found:
    """A learner of errands."""
    from errands.learners import make_learner
    from errands.oracle.certificate import expected

    learner, shares = make_learner(task, name, seed, settings={"gamma": GAMMA}), []
    for look in (n for n in LOOKS if n <= steps):
        learner.advance(look - learner.step)
        shares.append(expected(learner.policy, task, GAMMA).discounted / best)
    claim = learner.claim if name == "scout" else None
    return summed(shares, steps, (claim.lower / best, claim.upper / best) if claim else (0.0, NEVER))


def theirs(task: Any, name: str, seed: int, steps: int, best: float, python: str) -> Found:
    """A learner of the other library, on this world's tables, its greedy policy judged here."""
    from errands.oracle.certificate import expected
    from errands.oracle.product import product

    crossed = product(task)
    table, count = crossed.world.table, crossed.world.states
    shown = np.full(count, int(table.start_label[0]))
    shown[table.next.ravel()] = table.label.ravel()
    problem = {
        "next": table.next.tolist(), "cumulative": table.cumulative.tolist(), "following": crossed.following.tolist(),
        "shown": shown.tolist(), "start": int(table.starts[0]), "first": crossed.initial, "limit": task.world.limit,
        "seed": seed, "looks": [n for n in LOOKS if n <= steps], "counterfactual": name == "qr-max-rm",
    }  # fmt: skip
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [python, __file__, "child"], input=json.dumps(problem), env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    number = {crossed.state(m): m for m in range(len(crossed.u))}
    found = json.loads(done.stdout.splitlines()[-1])

    class Greedy:
        """One of their policies, by world state and machine state."""

        def __init__(self, actions: list[list[int]]) -> None:
            self.actions = actions

        def act(self, world_state: int, machine_state: Any, memory: Any) -> tuple[int, Any]:
            return self.actions[number[machine_state]][world_state], memory

    shares = [expected(Greedy(actions), task, GAMMA).discounted / best for actions in found["policies"]]
    print(f"  {name} seed {seed}: known after {found['tries']} real tries of a pair; at the end {shares[-1]:.3f}", flush=True)
    return summed(shares, steps)


def child() -> None:
    """QR-MAX on a world of tables, in the environment of its library."""
    from marl import Lonely, with_agent
    from multiagent_rlrm.learning_algorithms.qrmax_v2 import QRMax_v2
    from multiagent_rlrm.multi_agent.event_detector import EventDetector

    problem = json.load(sys.stdin)
    reached, cumulative, following = (np.array(problem[name]) for name in ("next", "cumulative", "following"))
    shown, rng = problem["shown"], np.random.default_rng(problem["seed"])
    cells, moves, states = len(reached), reached.shape[1], len(following) + 1
    done, dead = -1, -2
    tries = np.zeros((cells, moves), int)

    class Detector(EventDetector):
        def detect_event(self, current_state: Any) -> Any:
            return shown[current_state["pos_x"]]

    class World(Lonely):
        def step(self, actions: Any) -> Any:
            self.timestep += 1
            agent = self.agents[0]
            before, a, name = agent.get_state().copy(), int(actions[agent.name].name), agent.name
            s = before["pos_x"]
            tries[s, a] += 1
            o = min(int(np.searchsorted(cumulative[s, a], rng.random(), side="right")), reached.shape[2] - 1)
            there = int(reached[s, a, o])
            agent.set_position(there, 0)
            after, lost = agent.get_state().copy(), bool((following[:, shown[there]] == dead).all())
            over = self.timestep >= problem["limit"]
            return {name: after}, {name: 0.0}, {name: lost}, {name: over}, {name: {"prev_s": before, "s": after, "Renv": 0.0}}

    class Swept(QRMax_v2):
        """The same sweeps of value iteration in arrays."""

        def solve_VI(self) -> None:
            self.VI_solved += 1
            for s, q in self.final_states:
                self.Q[s, q, :] = 0
            known = (self.knownTSA * self.knownRSA)[:, None, :] * self.knownTSQA > 0
            for s, q in self.final_states:
                known[s, q] = False
            odds = self.nTSAS / np.maximum(self.nTSA, 1)[..., None]
            turns = self.nTQSQ / np.maximum(self.nTQS, 1)[..., None]
            paid = np.einsum("sap,qp->sqa", odds, turns.sum(2) * self.sumRQS / np.maximum(self.nRQS, 1))
            change = 1.0
            while change > self.delta_value_iter:
                later = (turns * self.Q.max(2).T[None].transpose(0, 2, 1)).sum(2)
                new = np.where(known, paid + self.gamma * np.einsum("sap,qp->sqa", odds, later, optimize=True), self.Q)
                # Relative to the larger value, as VIdeltarel says by default.
                size = np.abs(np.maximum(new, self.Q))
                change, self.Q = (np.abs(new - self.Q) / np.where(size > 0, size, 1.0)).max(), new

    table = {
        (f"u{m:02}", label): ("u99", 1.0) if to == done else (f"u{to:02}", 0.0)
        for m, row in enumerate(following.tolist()) for label, to in enumerate(row) if to != m and to != dead
    }  # fmt: skip
    # The last state that is named must be the final one.
    table = dict(sorted(table.items(), key=lambda entry: entry[1][0] == "u99"))
    algorithm = Swept(
        q_space_size=states, nsamplesTE=39, nsamplesRE=39, nsamplesTQ=1, nsamplesRQ=1, VI_delta=0.01, gamma=GAMMA,
        use_qrm=problem["counterfactual"], state_space_size=cells * states, action_space_size=moves, seed=problem["seed"],
    )  # fmt: skip
    world = World(cells, 1)
    env, agent = with_agent(world, lambda at: at["pos_x"], states, moves, (table, Detector()), (problem["start"], 0), algorithm)
    step, policies, first = 0, [], set()
    index = [agent.get_reward_machine().get_state_index(f"u{m:02}") for m in range(states - 1)]
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        while step < problem["looks"][-1]:
            before, _ = env.reset(0)
            algorithm.learn_init_episode()
            over = False
            while not over and step < problem["looks"][-1]:
                action = agent.select_action(world.agents[0].get_state(), False)
                known = algorithm.knownTSA.sum()
                after, rewards, ended, cut, infos = env.step({"a": action})
                told = {"state": before["a"], "action": action, "reward": rewards["a"], "next_state": after["a"]}
                agent.update_policy(**told, terminated=ended["a"], infos=infos["a"])
                if algorithm.knownTSA.sum() > known:
                    first.add(int(tries[before["a"]["pos_x"], int(action.name)]))
                before, over = {"a": after["a"].copy()}, ended["a"] or cut["a"]
                step += 1
                if step in problem["looks"]:
                    policies.append([algorithm.Q[:, q].argmax(axis=1).tolist() for q in index])
            algorithm.learn_done_episode()
    print("\n" + json.dumps({"policies": policies, "tries": sorted(first)}))


def reached(since: list[float]) -> str:
    """How many seeds came there, and the median step; of all seeds, so that it is missing where fewer than half came."""
    median = statistics.median(since)
    return f"{sum(n < NEVER for n in since)} | {f'{median:,.0f}' if median < NEVER else '-'}"


def main() -> None:
    if sys.argv[1:] == ["child"]:
        child()
        return
    import errands

    read = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    read.add_argument("--only", default=",".join(f"{m}-{e}" for m, e in (*PUBLISHED, (1, 6), (2, 6), (3, 6))))
    read.add_argument("--seeds", type=int, default=10)
    read.add_argument("--steps", type=int, default=40_000)
    read.add_argument("--learners", default="scout,qcorm-plus", help=", ".join(LEARNERS))
    read.add_argument("--marl")
    asked = read.parse_args()
    if unknown := set(asked.learners.split(",")) - set(LEARNERS):
        read.error(f"no learner is called {', '.join(unknown)}; choose from {', '.join(LEARNERS)}")
    began = time.process_time()
    print(f"{asked.seeds} seeds, {asked.steps:,} steps, gamma {GAMMA}; the last two columns are published")
    heads = ("map, exp", "learner", "within 1 %, seeds", "from", "1e-6, seeds", "from", "end, median (least)", "claim", "true")
    print("|", " | ".join((*heads, "QR-MAX", "QR-MAXRM")), "|\n" + "|---" * 11 + "|")
    for number, experiment in (map(int, pair.split("-")) for pair in asked.only.split(",")):
        task = errands.load(f"office-map{number}-exp{experiment}")
        best = errands.optimum(task, gamma=GAMMA).discounted
        for name in asked.learners.split(","):
            foreign = name.startswith("qr-max")
            found = [
                theirs(task, name, seed, asked.steps, best, asked.marl) if foreign else trained(task, name, seed, asked.steps, best)
                for seed in range(asked.seeds)
            ]
            shares = [share for _, _, share, _ in found]
            said = "- | -"
            if name == "scout":
                claims = [claim for *_, claim in found]
                held = sum(a <= share + 1e-9 and b >= 1.0 - 1e-9 for (a, b), share in zip(claims, shares, strict=True))
                low, high = (statistics.median(ends) for ends in zip(*claims, strict=True))
                said = f"{low:.3g} to {high:.3g} | {held} of {len(found)}"
            since = " | ".join(reached([f[i] for f in found]) for i in (0, 1))
            end = f"{statistics.median(shares):.4f} ({min(shares):.4f})"
            published = " | ".join(f"{n:,}" for n in PUBLISHED.get((number, experiment), ())) or "- | -"
            print(f"| {number}, {experiment} | {name} | {since} | {end} | {said} | {published} |", flush=True)
    print(f"{time.process_time() - began:.0f} CPU s here")


if __name__ == "__main__":
    main()
