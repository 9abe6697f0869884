"""The high level of deep QCoRM: steps to go, and grounding transitions replayed with their reward (Section 4)."""

# ruff: noqa: F722 (shapes of jaxtyping look like broken code)

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from errands.learners.engines.deep.agent import DeepAgent, HighLevel, Note
from errands.learners.engines.deep.agents import headed
from errands.learners.engines.deep.batch import Extra, Rule, signal_pay
from errands.learners.engines.deep.host_envs import Spaces
from errands.learners.engines.deep.machine import MachineArrays
from errands.learners.qcorm.settings import GROUND_CAPACITY, XI_UNITS, CoupledConfig, DeepQCoRMConfig, start_of
from errands.learners.schedule import Schedule
from errands.tables import FAILURE

# U machine states, K objectives; the coupled state (u, k) has the number u * K + k. Seeds run side by side in one
# program, so "do nothing" is written as a selection of the old value, or as a write to an index behind the end of an
# array, which mode="drop" leaves out.
ROW, COUPLED, ENTERED, DURATION, EXPLOITED = range(5)
"""Columns of `pending`: training step, coupled state, time at which it was entered, K^tau, whether its choice exploited."""
STEP, HEAD, REWARD, WEIGHT = range(4)
"""Columns of `ground`: training step, objective, reward, weight."""
FADING_RATE = 0.002
"""The rate at which the pay of failures fades with each success."""


def by_objective(machine: MachineArrays, config: CoupledConfig) -> Rule:
    """QCoRM: a head per objective, judged in a machine state in which it is open; its completion may be left out."""
    table = machine.table
    # A policy per objective does not know what else remains, so one state has to speak for all in which it is open.
    home = np.array([_home(machine, k) for k in range(len(machine.objectives))])
    reached = table.next[home].T
    done = (machine.completed[home] == np.arange(len(home))[:, None, None]).any(axis=-1).T
    failed = table.status[reached] == FAILURE
    factor, pay = signal_pay(machine, table.reward[home].T * config.reward_scale, table.signal[home].T)
    # Only steps that stay are paid what the machine pays; one that completes another objective goes on, with reward 0.
    stays = (reached == home) & ~done
    reward = np.where(done, config.full_reward, np.where(stays, factor, 0.0))
    if config.relabel:
        # [U, K] open now or in a state that can still be reached; numpy multiplies floats faster than flags.
        later = machine.reachable.astype(np.float32) @ machine.open.astype(np.float32) > 0
        alive = later if machine.task.vanishing else np.ones_like(machine.open)
    else:
        alive = machine.open
    follow = np.broadcast_to(np.arange(len(home), dtype=np.int32), done.shape)
    # The reward of Theorem 1 is known when the episode has ended: until then a completion teaches its own head nothing.
    counts = ~done if config.dedicated else np.ones_like(done)
    return Rule(reward, pay * stays[..., None], ~done & ~failed, follow, counts, alive)


def _home(machine: MachineArrays, k: int) -> int:
    """A state in which objective k is open, with as little else remaining as possible."""
    states = np.flatnonzero(machine.open[:, k])
    remaining = [int(machine.masks[i]).bit_count() for i in states]
    return int(states[int(np.argmin(remaining))])


class BanditMemory(NamedTuple):
    """What QCoRM remembers besides values."""

    eta: Float[Array, "states objectives"]
    """Steps to go, infinite until known."""
    used: Bool[Array, "states objectives"]
    """Which transitions were ever chosen."""
    shortest: Float[Array, ""]
    """K_mi."""
    best: Float[Array, " durations"]
    """K_op of each objective, or of each in each machine state."""
    choice: Int[Array, ""]
    exploited: Bool[Array, ""]
    clean: Bool[Array, ""]
    """Whether every choice of the episode exploited."""
    entered: Int[Array, ""]
    choices: Int[Array, ""]
    """How often xi fell: choices between several objectives, steps or episodes."""
    pending: Int[Array, "pending 5"]
    """Grounding transitions of the episode."""
    waiting: Int[Array, ""]
    """How many of them there are."""
    ground: Float[Array, "capacity 4"]
    """Grounding transitions of past episodes; steps are exact up to 2^24."""
    share: Float[Array, ""]
    """How far the pay of failures has faded, s: 0 at first, nearer to 1 with every exploited success."""
    grounded: Int[Array, ""]
    replayed: Int[Array, ""]
    ended: Bool[Array, ""]
    """Whether an episode ended after the last update."""


@dataclass(frozen=True, eq=False)
class Bandit(HighLevel):
    """Chooses among coupled states by steps to go, with xi-exploration; a completed subtask is paid the full reward (QCoRM-0)."""

    config: CoupledConfig
    open: Bool[Array, "states objectives"]
    episode: tuple[str, ...] = ("choice", "exploited", "clean", "entered", "pending", "waiting")

    @property
    def xi(self) -> Schedule:
        """The probability of exploring the order."""
        return Schedule.of(self.config.xi, "xi", XI_UNITS)

    @property
    def objectives(self) -> int:
        """K."""
        return int(self.open.shape[1])

    @property
    def uniforms(self) -> int:
        """One to explore, one per objective to break ties, and one per extra row."""
        return 1 + self.objectives + self.extra

    @property
    def extra(self) -> int:
        """Grounding rows in each update."""
        return self.config.ground_batch if self.config.dedicated else 0

    def start(self, key: Array) -> BanditMemory:
        """Nothing known."""
        # An objective can be completed several times (the station after every box); what finds no room is lost.
        size, room = GROUND_CAPACITY, 4 * self.objectives + 4
        zero = jnp.int32(0)
        return BanditMemory(
            eta=jnp.full(self.open.shape, jnp.inf, jnp.float32),
            used=jnp.zeros(self.open.shape, jnp.bool_),
            shortest=jnp.float32(jnp.inf),
            best=jnp.full(self.objectives, jnp.inf, jnp.float32),
            choice=jnp.int32(-1),
            exploited=jnp.bool_(True),
            clean=jnp.bool_(True),
            entered=zero,
            choices=zero,
            pending=jnp.zeros((room, 5), jnp.int32),
            waiting=zero,
            ground=jnp.zeros((size, 4)),
            share=jnp.float32(0.0),
            grounded=zero,
            replayed=zero,
            ended=jnp.bool_(False),
        )

    def pick(
        self, memory: BanditMemory, state: Array, now: Array, uniforms: Array
    ) -> tuple[BanditMemory, Array]:
        """The objective in hand, or a new choice: fewest steps to go, or with probability xi another, unused first."""
        open_ = self.open[state]
        several = jnp.sum(open_) > 1
        xi = self.xi.at(memory.choices, jnp.clip)
        explore = several & (uniforms[0] < xi)
        ties = uniforms[1 : 1 + self.objectives]
        # Used transitions rank below 1 and unused ones from 1 on: exploring takes an unused one wherever there is one.
        other = ties + ~memory.used[state]
        rank = jnp.where(explore, other, self._rank(memory, state, ties))
        fresh = jnp.argmax(jnp.where(open_, rank, -jnp.inf)).astype(jnp.int32)
        new = memory.choice < 0
        choice = jnp.where(new, fresh, memory.choice)
        chosen = new & (jnp.arange(self.objectives) == choice)
        here = (jnp.arange(len(self.open)) == state)[:, None] & chosen
        return memory._replace(
            choice=choice,
            exploited=jnp.where(new, ~explore, memory.exploited),
            clean=memory.clean & ~(new & explore),
            choices=memory.choices + self._falls(new & several),
            used=memory.used | here,
        ), choice

    def _falls(self, chosen: Array) -> Array:
        """Whether xi falls with a step that may choose; with episodes it falls when one is over."""
        return chosen if self.xi.unit == "choices" else jnp.bool_(self.xi.unit == "steps")

    def _rank(self, memory: BanditMemory, state: Array, ties: Array) -> Float[Array, " objectives"]:
        """The highest is exploited: fewest steps to go, then any that is not known."""
        # Known ones rank above 0 and unknown ones below -1: exploiting prefers what has succeeded before.
        eta = memory.eta[state]
        return jnp.where(jnp.isfinite(eta), 1.0 / (1.0 + eta), ties - 2.0)

    def best(self, memory: BanditMemory, held: Array, since: Array, state: Array, now: Array) -> Array:
        """The objective in hand, or the open one that the high level exploits."""
        rank = self._rank(memory, state, -jnp.arange(self.objectives) / self.objectives)
        best = jnp.argmax(jnp.where(self.open[state], rank, -jnp.inf)).astype(jnp.int32)
        return jnp.where(since > 0, held, best)

    def replay(self, memory: BanditMemory, step: Array, uniforms: Array) -> tuple[BanditMemory, Extra]:
        """Grounding rows for the next update: drawn from all that are kept, or the next that were not replayed yet."""
        c = self.config
        stored = jnp.minimum(memory.grounded, GROUND_CAPACITY)
        if c.ground_replay != "once":
            at = jnp.floor(uniforms[1 + self.objectives :] * stored).astype(jnp.int32)
            there = jnp.broadcast_to(stored > 0, at.shape)
        else:
            # Both counts only grow; rows that were overwritten before their turn are skipped.
            number = jnp.maximum(memory.replayed, memory.grounded - GROUND_CAPACITY) + jnp.arange(c.ground_batch)
            there, at = number < memory.grounded, number % GROUND_CAPACITY
            memory = memory._replace(replayed=jnp.minimum(number[-1] + 1, memory.grounded))
        rows = memory.ground[at]
        when, head, target = rows[:, STEP].astype(jnp.int32), rows[:, HEAD].astype(jnp.int32), rows[:, REWARD]
        # A grounding row names its step in the replay buffer, which may have been overwritten since.
        fresh = there & (step - when < c.capacity)
        # An update of their own after each episode takes the place of an ordinary one.
        if c.ground_replay != "episode":
            return memory, Extra(when, head, target, rows[:, WEIGHT] * fresh)
        alone, memory = memory.ended & (stored > 0), memory._replace(ended=jnp.bool_(False))
        return memory, Extra(when, head, target, rows[:, WEIGHT] * fresh * alone, alone)

    def note(self, memory: BanditMemory, note: Note) -> BanditMemory:
        """Keep a grounding transition; when the episode is over, settle steps to go and rewards."""
        # Before settling: the completion that ends the episode belongs to it. What coincides with a failure does not count.
        failed = note.terminal & ~note.success
        duration, exploited = note.time - memory.entered, memory.exploited.astype(jnp.int32)
        for completed in note.completed:
            ground = (completed >= 0) & ~failed
            coupled = note.state * self.objectives + completed
            entry = jnp.stack([note.step, coupled, memory.entered, duration, exploited])
            slot = jnp.where(ground, memory.waiting, len(memory.pending))
            memory = memory._replace(
                pending=memory.pending.at[slot].set(entry, mode="drop"),
                waiting=jnp.minimum(memory.waiting + ground, len(memory.pending)),
            )
        moved = note.reached != note.state
        memory = self._settle(memory, note)
        again = jnp.where(note.over, True, memory.clean)
        return memory._replace(
            choice=jnp.where(moved | note.over, -1, memory.choice),
            entered=jnp.where(note.over, 0, jnp.where(moved, note.time, memory.entered)),
            clean=again,
            waiting=jnp.where(note.over, 0, memory.waiting),
            choices=memory.choices + (note.over & (self.xi.unit == "episodes")),
            ended=memory.ended | note.over,
        )

    def _settle(self, memory: BanditMemory, note: Note) -> BanditMemory:
        # Computed at every step, since seeds end their episodes at different ones; else `listed` is nowhere true.
        c = self.config
        pending, length = memory.pending, note.time.astype(jnp.float32)
        listed = (jnp.arange(len(pending)) < memory.waiting) & note.over
        won = listed & note.success
        coupled = jnp.where(won, pending[:, COUPLED], memory.eta.size)
        # Credited to the objective that was completed, even by accident while another was pursued (the paper is
        # silent). The first value is taken whole: there is no way to move from infinity by a share.
        togo = length - pending[:, ENTERED]
        flat = memory.eta.ravel()
        old = flat[jnp.minimum(coupled, flat.size - 1)]
        eta = flat.at[coupled].set(jnp.where(jnp.isfinite(old), old + c.alpha_eta * (togo - old), togo), mode="drop")
        memory, reward = self._paid(memory._replace(eta=eta.reshape(memory.eta.shape)), note, won)
        if not c.dedicated:
            return memory
        # Transitions that are not replayed take a slot too, with weight 0: slots then follow from counts alone.
        at = jnp.where(listed, (memory.grounded + jnp.arange(len(pending))) % GROUND_CAPACITY, GROUND_CAPACITY)
        columns = [pending[:, ROW], pending[:, COUPLED] % self.objectives, reward, pending[:, EXPLOITED]]
        rows = jnp.stack([column.astype(jnp.float32) for column in columns], axis=1)
        return memory._replace(
            ground=memory.ground.at[at].set(rows, mode="drop"),
            grounded=memory.grounded + jnp.sum(listed),
        )

    def _paid(self, memory: BanditMemory, note: Note, won: Bool[Array, " pending"]) -> tuple[BanditMemory, Array]:
        """What is known after a step, and the reward of each completion of the episode if the step has ended it."""
        return memory, jnp.full(len(memory.pending), self.config.full_reward)


@dataclass(frozen=True, eq=False)
class JointBandit(Bandit):
    """The same with the reward of Theorem 1, and the estimates that it needs."""

    config: DeepQCoRMConfig

    @property
    def durations(self) -> int:
        """How many K_op there are."""
        return self.open.size if self.config.best_durations == "coupled" else self.objectives

    def start(self, key: Array) -> BanditMemory:
        """Nothing known."""
        return super().start(key)._replace(
            shortest=jnp.float32(start_of(self.config.shortest_start)),
            best=jnp.full(self.durations, start_of(self.config.best_duration_start), jnp.float32),
        )

    def _paid(self, memory: BanditMemory, note: Note, won: Bool[Array, " pending"]) -> tuple[BanditMemory, Array]:
        c, pending, length = self.config, memory.pending, note.time.astype(jnp.float32)
        best = note.over & note.success & memory.clean
        memory = memory._replace(shortest=self._shortest(memory, best, length))
        took = pending[:, DURATION].astype(jnp.float32)
        # Rewards are those of the estimates before the episode's own durations join K_op.
        reward = self.reward(memory, pending[:, COUPLED] % self.durations, took, jnp.broadcast_to(length, took.shape))
        if c.failed == "fading":
            # By its length a failure would be the shortest episode of all. Full pay lets a leg be quick before the next one
            # can go on from there; once episodes succeed, running into a failure must not pay.
            reward = jnp.where(note.success, reward, c.full_reward * (1.0 - memory.share**2))
        # Failures do not bring the pay back: exploring fails many an episode of a good policy, and where it fails most of
        # them, to fail would go on paying more than to succeed.
        share = memory.share + jnp.where(best, FADING_RATE, 0.0) * (1.0 - memory.share)
        durations = self._durations(memory, pending, won & (pending[:, EXPLOITED] == 1))
        return memory._replace(share=share, best=durations), reward

    def _shortest(self, memory: BanditMemory, counts: Bool[Array, ""], length: Float[Array, ""]) -> Float[Array, ""]:
        """K_mi after an episode that counts: successful, and exploited in every choice of its order."""
        if self.config.shortest == "ratchet":
            counts = counts & (length <= memory.shortest)
        nearer = memory.shortest + self.config.alpha_k * (length - memory.shortest)
        return jnp.where(counts, jnp.where(jnp.isfinite(memory.shortest), nearer, length), memory.shortest)

    def reward(
        self,
        memory: BanditMemory,
        place: Int[Array, " rows"],
        took: Float[Array, " rows"],
        length: Float[Array, " rows"],
    ) -> Float[Array, " rows"]:
        """R(K, tau) of Theorem 1 for completions that took K^tau steps in episodes of K; `place` is that of their K_op."""
        c = self.config
        full = jnp.full(took.shape, c.full_reward)
        # Three readings of Theorem 1's delta K; the printed one punishes a fast leg even in the best episode so far.
        # Until K_mi and K_op are known the excess is not finite, and the full reward is paid.
        best, late = memory.best[place], length - memory.shortest
        excess = late if c.delta == "episode" else jnp.maximum(best - took, late)
        some = (excess > 0) & jnp.isfinite(excess)
        if c.delta == "gated":
            some = some & (late > 0)
        excess = jnp.where(some, excess, 0.0)
        reward = c.gamma ** (excess + 1.0) * c.full_reward
        if c.min_step_reward and c.gamma < 1:
            # The proof bounds the steps that a leg faster than K_op saves; a slower one saves none. As printed all pay.
            saved = jnp.minimum(c.gamma ** jnp.minimum(1.0 - took, 0.0) - c.gamma**excess, 1e12)
            owed = (took < best) | (c.delta == "printed")
            reward = reward + jnp.where(owed, saved / (1.0 - c.gamma) * c.min_step_reward, 0.0)
        if c.floor is not None:
            reward = jnp.maximum(reward, c.floor * c.full_reward)
        return jnp.where(some, reward, full)

    def _durations(self, memory: BanditMemory, pending: Array, counts: Array) -> Float[Array, " durations"]:
        """K_op after exploited completions; several of one pull together, by their mean."""
        own = (pending[:, COUPLED] % self.durations)[:, None] == jnp.arange(self.durations)
        number = jnp.sum(own & counts[:, None], axis=0)
        mean = jnp.sum(jnp.where(own & counts[:, None], pending[:, DURATION, None], 0), axis=0) / jnp.maximum(number, 1)
        pulled = memory.best + (1 - (1 - self.config.alpha_k) ** number) * (mean - memory.best)
        return jnp.where(number > 0, jnp.where(jnp.isfinite(memory.best), pulled, mean), memory.best)


def agent(learner: str, machine: MachineArrays, config: CoupledConfig, spaces: Spaces) -> DeepAgent:
    """The agent: a head for each objective, chosen by the bandit over steps to go."""
    bandit: Any = JointBandit if isinstance(config, DeepQCoRMConfig) else Bandit
    return headed(learner, machine, config, spaces, by_objective(machine, config), bandit(config, jnp.asarray(machine.open)))
