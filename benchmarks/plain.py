"""QCoRM and agenda CRM in plain Python, as one would write them without a compiler: lists, dicts and loops.

They draw the same random numbers in the same order as the compiled learners, so that their tables must be equal.
"""

from __future__ import annotations

import math

import numpy as np

from errands.machines import Stepper, unfold_agenda
from errands.machines.counting import objectives
from errands.tasks import Task


class PlainWorld:
    """A certain finite world as nested lists of (next state, features)."""

    def __init__(self, task: Task) -> None:
        finite = task.finite
        assert finite is not None
        assert finite.certain
        table = finite.table
        self.start = int(table.starts[0])
        self.moves = [
            [(int(table.next[s, a, 0]), finite.labels[table.label[s, a, 0]]) for a in range(finite.actions)]
            for s in range(finite.states)
        ]
        self.limit = task.world.limit


def explore(row: list[float], epsilon: float, rng: np.random.Generator) -> int:
    x = rng.random()
    if x < epsilon:
        return min(int(x / epsilon * len(row)), len(row) - 1)
    best = max(row)
    ties = [a for a, value in enumerate(row) if value == best]
    return ties[min(int((x - epsilon) / (1.0 - epsilon) * len(ties)), len(ties) - 1)] if len(ties) > 1 else ties[0]


class PlainCRM:
    """Agenda CRM where completed subtasks vanish: reachable machine states learn from every step."""

    def __init__(self, task: Task, seed: int, alpha: float, gamma: float, epsilon: float, q_init: float) -> None:
        self.world, self.rng = PlainWorld(task), np.random.Generator(np.random.PCG64(seed))
        self.alpha, self.gamma, self.epsilon = alpha, gamma, epsilon
        self.machine = unfold_agenda(task.machine)
        stepper = self.machine.stepper
        self.running = [stepper.status[u] == 0 for u, _ in self.machine.states]
        labels = {label for row in self.world.moves for _, label in row}
        self.step_of = [
            {
                label: (self.machine.index[step.state], step.transition.reward.value if step.transition else 0.0)
                for label in labels
                for step in [stepper.step(state, label)]
            }
            for state in self.machine.states
        ]
        self.reachable = [self._reachable(i) for i in range(len(self.machine))]
        self.q = [[[q_init] * 4 for _ in self.world.moves] for _ in self.machine.states]
        self.s, self.i, self.t = self.world.start, 0, 0

    def _reachable(self, source: int) -> list[int]:
        found, stack = {source}, [source]
        while stack:
            for j, _ in self.step_of[stack.pop()].values():
                if j not in found:
                    found.add(j)
                    stack.append(j)
        return sorted(i for i in found if self.running[i])

    def train(self, steps: int) -> None:
        for _ in range(steps):
            s, i = self.s, self.i
            a = explore(self.q[i][s], self.epsilon, self.rng)
            s2, label = self.world.moves[s][a]
            updates = []
            for k in self.reachable[i]:
                j, target = self.step_of[k][label]
                if self.running[j]:
                    target += self.gamma * max(self.q[j][s2])
                updates.append((k, target))
            for k, target in updates:
                self.q[k][s][a] += self.alpha * (target - self.q[k][s][a])
            self.s, self.i, self.t = s2, self.step_of[i][label][0], self.t + 1
            if not self.running[self.i] or self.t >= self.world.limit:
                self.s, self.i, self.t = self.world.start, 0, 0


class PlainQCoRM:
    """QCoRM without joint optimisation, on a certain world without failures."""

    def __init__(
        self,
        task: Task,
        seed: int,
        alpha: float,
        gamma: float,
        epsilon: float,
        q_init: float,
        alpha_eta: float,
    ) -> None:
        self.world, self.rng = PlainWorld(task), np.random.Generator(np.random.PCG64(seed))
        self.alpha, self.gamma, self.epsilon, self.alpha_eta = alpha, gamma, epsilon, alpha_eta
        self.stepper = Stepper(task.machine)
        self.names = objectives(task.machine)
        self.q = {k: [[q_init] * 4 for _ in self.world.moves] for k in self.names}
        self.eta: dict[tuple[tuple[int, int], str], float] = {}
        self.used: set[tuple[tuple[int, int], str]] = set()
        self.choices = 0
        self.begin()

    def begin(self) -> None:
        self.s, self.state, self.t = self.world.start, self.stepper.start, 0
        self.ground: list[tuple[int, int, str, bool]] = []
        self.passed: list[tuple[tuple[int, int], str, int]] = []
        self.occupy()

    def occupy(self) -> None:
        self.open = self.stepper.alternatives(self.state)
        self.choice: str | None = None
        self.entered = self.t

    def choose(self) -> None:
        self.exploited = True
        self.choice = self.open[0]
        if len(self.open) > 1:
            xi = max(0.1, 1.0 - 0.001 * self.choices)
            self.choices += 1
            x = self.rng.random()
            if x < xi:
                self.exploited = False
                among = [k for k in self.open if (self.state, k) not in self.used] or list(self.open)
                self.choice = among[min(int(x / xi * len(among)), len(among) - 1)]
            else:
                known = [k for k in self.open if (self.state, k) in self.eta]
                if known:
                    self.choice = min(known, key=lambda k: self.eta[(self.state, k)])
                else:
                    self.choice = self.open[min(int((x - xi) / (1.0 - xi) * len(self.open)), len(self.open) - 1)]
        self.used.add((self.state, self.choice))

    def train(self, steps: int) -> None:
        for _ in range(steps):
            if self.choice is None:
                self.choose()
            assert self.choice is not None
            s = self.s
            a = explore(self.q[self.choice][s], self.epsilon, self.rng)
            s2, label = self.world.moves[s][a]
            step = self.stepper.step(self.state, label)
            done = next(iter(self.stepper.completed(self.state, step)), None)
            for k in self.open:
                if k != done:
                    row = self.q[k][s]
                    row[a] += self.alpha * (self.gamma * max(self.q[k][s2]) - row[a])
            self.t += 1
            if done is not None:
                self.ground.append((s, a, done, self.exploited))
                self.passed.append((self.state, done, self.entered))
            moved = step.state != self.state
            self.s, self.state = s2, step.state
            if self.stepper.status[step.state[0]] != 0 or self.t >= self.world.limit:
                self.finish(self.stepper.status[step.state[0]] == 1)
                self.begin()
            elif moved:
                self.occupy()

    def finish(self, success: bool) -> None:
        if success:
            for state, k, entered in self.passed:
                togo = self.t - entered
                old = self.eta.get((state, k), math.inf)
                self.eta[(state, k)] = togo if old == math.inf else old + self.alpha_eta * (togo - old)
        for s, a, k, exploited in self.ground:
            if exploited:
                self.q[k][s][a] += self.alpha * (1.0 - self.q[k][s][a])
