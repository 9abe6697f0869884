"""The paper's claims, each judged by explicit rules from what was measured; the text of a claim is ours, its place the paper's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from errands.paper import rules
from errands.paper.evidence import Evidence
from errands.paper.panels import NETWORKS, PRINTED
from errands.paper.rules import Check, Rule

REPRODUCED, PARTLY, NOT, REFUTED, UNKNOWN = "reproduced", "partly", "not reproduced", "refuted", "not run"
UNDECIDED = "undecided"
FRESH, ONE = "a fresh coffee for each office", "one coffee for all offices"
REWARD = "Theorem 1's reward as its proof needs it (delta = episode)"
PRINTED_REWARD = "Theorem 1's reward as printed (delta = printed, shortest = ratchet)"
RATCHET = "delta = episode, and failures paid by their length (failed = length), which our preset pays less and less"
SHARE = "delta = episode, and failures paid less by the share of successes (failed = share), not with each as our preset has it now"
MEAN = "delta = episode, shortest = mean and failed = length: our first preset with this reading"
CHOICE = "delta = episode, and exploring of the order falls per choice (xi_per = choice), not per step as our preset has it now"
ALWAYS = "delta = episode, grounding transitions replayed in every update, not once (ground_replay = always)"
BATCH = "delta = episode, one batch of completions after each episode (ground_replay = episode, ground_batch = 128)"
ZERO = "Theorem 1's reward as printed, and every best duration 0 at first (best_duration_start = 0)"
SLOW = "targets move every 10,000 steps, by 0.1 (target_every = 10000), as in the DQN that the paper builds on"


@dataclass(frozen=True)
class PaperClaim:
    """A sentence of the paper and the checks that it stands for."""

    name: str
    where: str
    text: str
    judge: Rule = field(repr=False, compare=False)
    command: str
    exact: bool = False
    """Whether it is decided by computation, once for all presets: then failing means refuted."""
    under: tuple[str, ...] = ("tuned", "paper")
    """What it is judged under: presets, or the kinds of network whose runtimes are compared."""
    reading: str = ""
    """How the paper was read, where its text can be read in several ways."""
    deep: bool = False
    """Whether it is about Water and HalfCheetah."""


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict and the measurements behind it."""

    name: str
    where: str
    text: str
    reading: str
    verdict: str
    by_preset: dict[str, str]
    measured: dict[str, list[str]]
    command: str

    @property
    def words(self) -> str:
        """The verdict, with those under each preset where they differ."""
        apart = {under: verdict for under, verdict in self.by_preset.items() if verdict != UNKNOWN}
        if len(set(self.by_preset.values())) < 2:
            return self.verdict
        return f"{self.verdict} ({', '.join(f'{under}: {verdict}' for under, verdict in apart.items())})"


def judge_all(evidence: Evidence, claims: Sequence[PaperClaim] | None = None) -> list[Judged]:
    """Every claim judged, under each preset and over all."""
    return [judge(claim, evidence) for claim in (CLAIMS if claims is None else claims)]


def judge(claim: PaperClaim, evidence: Evidence) -> Judged:
    """One claim judged."""
    checks = {preset: claim.judge(evidence, preset) for preset in (("exact",) if claim.exact else claim.under)}
    verdicts = {preset: verdict(some, claim.exact) for preset, some in checks.items()}
    measured = {preset: [check.said for check in some] for preset, some in checks.items()}
    whole = over_all(verdicts.values())
    return Judged(claim.name, claim.where, claim.text, claim.reading, whole, verdicts, measured, claim.command)


def over_all(verdicts: Iterable[str]) -> str:
    """The verdict that all presets share, where they were run; partly where they do not agree."""
    some = set(verdicts) - {UNKNOWN}
    if some == {NOT, UNDECIDED}:
        return NOT
    return some.pop() if len(some) == 1 else PARTLY if some else UNKNOWN


def verdict(checks: Sequence[Check], exact: bool) -> str:
    """All checks hold: reproduced; some, or all that could be made: partly; none: not reproduced, or refuted if exact.

    A check that was made and did not tell counts as one that does not hold, unless all are of that kind: undecided.
    """
    outcomes = [check.holds for check in checks if check.holds is not None]
    if not outcomes:
        return UNDECIDED if any(check.undecided for check in checks) else UNKNOWN
    if all(outcomes):
        return PARTLY if any(check.holds is None and check.needed for check in checks) else REPRODUCED
    return PARTLY if any(outcomes) else REFUTED if exact else NOT


_FAMILIES = ("delivery", "office")
_FULL = "errands reproduce --profile full"
_DELIVERY = "errands reproduce delivery-2 delivery-8 --profile full"
_RUNTIME = "errands reproduce delivery-runtime office-runtime --profile full"
_CRM = ("crm agenda", "crm boolean")


def _office(ending: str, reading: str) -> tuple[PaperClaim, ...]:
    """The claims about Office under one reading of its text."""
    tasks = (f"office-3{ending}", f"office-6{ending}")
    sizes = tuple(f"office-{n}" for n in range(2, 7)) if not ending else tasks
    command = f"errands reproduce {' '.join(tasks)} --profile full"
    over_sizes = command if ending else "errands reproduce office-runtime --profile full"
    return (
        PaperClaim(f"qcorm-before-crm-office{ending}", "5.1 Office", "QCoRM outperforms the CRM methods, for three and six offices",
              rules.before(("qcorm",), _CRM, tasks), command, reading=reading),
        PaperClaim(f"crm-similar-office{ending}", "5.1 Office", "CRM converges at similar rates with agenda and Boolean machines",
              rules.similar(*_CRM, sizes), over_sizes, reading=reading),
        PaperClaim(f"hrm-sub-optimal-office{ending}", "5.1 Office", "HRM converges to sub-optimal policies",
              rules.sub_optimal("hrm agenda", tasks), command, reading=reading),
        PaperClaim(f"qrm-slowest-office{ending}", "5.1 Office", "QRM converges slowest",
              rules.slowest(("qrm agenda", "qrm boolean"), tasks), command, reading=reading),
        PaperClaim(f"dirl-office{ending}", "5.1 Office", "DiRL converges for three offices and fails for six",
              rules.both(rules.succeeds("dirl", tasks[:1]), rules.fails("dirl", tasks[1:])), command, reading=reading),
    )  # fmt: skip


def _optimality(name: str, reading: str, *tasks: str) -> PaperClaim:
    return PaperClaim(name, "4 Theorem 1", "One policy per subtask, jointly optimised, is globally optimal",
                 rules.one_policy_is_optimal(tasks), f"errands solve {tasks[-1]} --one-policy-per-subtask", exact=True,
                 reading=reading)  # fmt: skip


_SHORTER = "Theorem 1's reward leads to shorter policies than QCoRM-0's (shown on Water)"
_ENDS = ("delivery-2", "delivery-8", "office-3", "office-6", "office-3-one-coffee", "office-6-one-coffee")
_TABULAR: tuple[PaperClaim, ...] = (
    PaperClaim("qcorm-optimal", "5.1 Delivery", "QCoRM converges to an optimal policy for two and for eight boxes",
          rules.reaches_optimum("qcorm", ("delivery-2", "delivery-8")), _DELIVERY, reading=REWARD),
    PaperClaim("hrm-fastest-2", "5.1 Delivery", "HRM converges fastest for two boxes",
          rules.fastest(("hrm agenda", "hrm boolean"), ("delivery-2",)), _DELIVERY),
    PaperClaim("hrm-fails-8", "5.1 Delivery", "HRM fails to converge for eight boxes",
          rules.never_settles("hrm agenda", ("delivery-8",)), _DELIVERY),
    PaperClaim("qcorm-before-crm-delivery", "5.1 Delivery", "QCoRM converges before the CRM methods, for 2 and 8 boxes",
          rules.before(("qcorm",), _CRM, ("delivery-2", "delivery-8")), _DELIVERY, reading=REWARD),
    PaperClaim("agenda-crm-faster", "5.1 Delivery", "CRM converges faster with agenda than with Boolean machines",
          rules.both(rules.sooner(*_CRM, tuple(f"delivery-{n}" for n in range(2, 7))),
                     rules.where_run(rules.sooner(*_CRM, ("delivery-7", "delivery-8")))),
          "errands reproduce delivery-runtime --profile full"),
    PaperClaim("dirl-delivery", "5.1 Delivery", "DiRL is sub-optimal for two boxes and fails for eight",
          rules.both(rules.sub_optimal("dirl", ("delivery-2",)), rules.fails("dirl", ("delivery-8",))), _DELIVERY),
    PaperClaim("boolean-memory", "5.1 Delivery", "Boolean machines for more than five boxes exceed 16 GiB of memory",
          rules.boolean_memory(range(6, 9)), "errands size delivery-8", exact=True),
    *_office("", FRESH),
    *_office("-one-coffee", ONE),
    PaperClaim("qcorm-linear", "5.3 Runtimes", "QCoRM's runtime grows linearly with the number of subtasks",
          rules.grows(("qcorm",), "linear", _FAMILIES), _RUNTIME),
    PaperClaim("crm-hrm-exponential", "5.3 Runtimes", "The runtimes of CRM and HRM grow exponentially",
          rules.grows(("crm agenda", "hrm agenda", "crm boolean", "hrm boolean"), "exponential", _FAMILIES), _RUNTIME),
    PaperClaim("qrm-exponential", "5.3 Runtimes", "QRM's runtime grows exponentially in tabular domains",
          rules.grows(("qrm agenda", "qrm boolean"), "exponential", _FAMILIES), _RUNTIME),
    PaperClaim("boolean-time", "5.3 Runtimes", "Boolean CRM and HRM exceed the limit of 40 hours in large tasks",
          rules.exceeds_hours(("crm boolean", "hrm boolean"), 40.0), _RUNTIME + " --boolean-large"),
    PaperClaim("theorem-1-reward", "5.2 Ablation", _SHORTER,
          rules.shorter("qcorm", "qcorm-0", _ENDS), _FULL, reading=f"tabular domains; {REWARD}"),
    PaperClaim("theorem-1-reward-printed", "5.2 Ablation", _SHORTER,
          rules.shorter(PRINTED.name, "qcorm-0", _ENDS), _FULL, reading=f"tabular domains; {PRINTED_REWARD}"),
    PaperClaim("qcorm-optimal-printed", "5.1 Delivery", "QCoRM converges to an optimal policy for two and for eight boxes",
          rules.reaches_optimum(PRINTED.name, ("delivery-2", "delivery-8")), _DELIVERY, reading=PRINTED_REWARD),
    PaperClaim("coupled-structure", "5.2 Ablation", "QCoRM-0 still has a structural advantage over CRM (shown on Water)",
          rules.before(("qcorm-0",), ("crm agenda",), _ENDS), _FULL, reading="tabular domains"),
    _optimality("global-optimality", "in general", "delivery-2", "corridor"),
    _optimality("global-optimality-office", FRESH, "office-3", "office-6"),
    _optimality("global-optimality-one-coffee", ONE, "office-3-one-coffee", "office-6-one-coffee"),
)  # fmt: skip

_BOTH, _REST = ("water-3", "water-5"), ("water-2", "water-4")
_OTHERS = ("crm agenda", "hrm agenda", "qrm agenda", "dirl")
_WATER = "errands reproduce water --profile full"
_BCD, _BCDE = ("cheetah-bcd",), ("cheetah-bcde",)
_CHEETAH = "errands reproduce cheetah-bcd cheetah-bcde --profile full"
_PACES = "errands reproduce water-runtime cheetah-runtime --profile full"
_NETWORKED = ("water", "cheetah")
_BEFORE = "qcorm shortest=mean failed=length"
_SHARED = "qcorm failed=share alpha_share=0.001"
_BATCHED = "qcorm ground_replay=episode ground_batch=128"
_FROM_ZERO = f"{PRINTED.name} best_duration_start=0"
_SLOW = " target_every=10000"
_JOINT = "Without Theorem 1's reward (QCoRM-0) policies are sub-optimal: QCoRM ends shorter"
_DEEP: tuple[PaperClaim, ...] = (
    PaperClaim("water-qcorm-fastest", "5.2 Water", "QCoRM converges fastest for three and five balls",
          rules.ahead("qcorm", _OTHERS, _BOTH), _WATER, reading=REWARD),
    PaperClaim("water-crm-next", "5.2 Water", "then CRM, before HRM",
          rules.ahead("crm agenda", ("hrm agenda",), _BOTH), _WATER),
    PaperClaim("water-hrm-sub-optimal", "5.2 Water", "HRM converges to sub-optimal policies",
          rules.sub_optimal("hrm agenda", _BOTH), _WATER),
    PaperClaim("water-hrm-before-qrm", "5.2 Water", "HRM converges before QRM",
          rules.ahead("hrm agenda", ("qrm agenda",), _BOTH), _WATER),
    PaperClaim("water-dirl-last", "5.2 Water", "DiRL comes last, and is sub-optimal",
          rules.both(rules.ahead("qrm agenda", ("dirl",), _BOTH), rules.sub_optimal("dirl", _BOTH)), _WATER),
    PaperClaim("water-similar", "5.2 Water", "Results are similar on the other Water instances: QCoRM converges fastest",
          rules.ahead("qcorm", _OTHERS, _REST), _WATER, reading=REWARD),
    PaperClaim("water-joint", "5.2 Ablation", _JOINT,
          rules.shorter("qcorm", "qcorm-0", _BOTH), _WATER, reading=REWARD),
    PaperClaim("water-joint-similar", "5.2 Ablation", "Similar on the other Water instances: QCoRM ends shorter than QCoRM-0",
          rules.shorter("qcorm", "qcorm-0", _REST), _WATER, reading=REWARD),
    PaperClaim("water-qcorm-fastest-printed", "5.2 Water", "QCoRM converges fastest for three and five balls",
          rules.ahead(PRINTED.name, _OTHERS, _BOTH), _WATER, reading=PRINTED_REWARD),
    PaperClaim("water-qcorm-fastest-mean", "5.2 Water", "QCoRM converges fastest for three and five balls",
          rules.ahead(_BEFORE, _OTHERS, _BOTH), "python paper/deep.py", under=("tuned",), reading=MEAN),
    PaperClaim("water-qcorm-fastest-batch", "5.2 Water", "QCoRM converges fastest for three and five balls",
          rules.ahead(_BATCHED, _OTHERS, _BOTH), "python paper/deep.py", under=("paper",), reading=BATCH),
    PaperClaim("water-qcorm-fastest-zero", "5.2 Water", "QCoRM converges fastest for three and five balls",
          rules.ahead(_FROM_ZERO, _OTHERS, _BOTH), "python paper/deep.py", under=("paper",), reading=ZERO),
    PaperClaim("water-qcorm-fastest-slow", "5.2 Water", "QCoRM converges fastest for three and five balls",
          rules.ahead(f"qcorm{_SLOW}", (f"crm agenda{_SLOW}",), _BOTH), "python paper/deep.py", under=("paper",), reading=SLOW),
    PaperClaim("water-joint-batch", "5.2 Ablation", _JOINT,
          rules.shorter(_BATCHED, "qcorm-0", _BOTH), "python paper/deep.py", under=("paper",), reading=BATCH),
    PaperClaim("water-joint-zero", "5.2 Ablation", _JOINT,
          rules.shorter(_FROM_ZERO, "qcorm-0", _BOTH), "python paper/deep.py", under=("paper",), reading=ZERO),
    PaperClaim("water-joint-printed", "5.2 Ablation", _JOINT,
          rules.shorter(PRINTED.name, "qcorm-0", _BOTH), _WATER, reading=PRINTED_REWARD),
    PaperClaim("water-joint-always", "5.2 Ablation", _JOINT,
          rules.shorter("qcorm ground_replay=always", "qcorm-0 ground_replay=always", _BOTH), "python paper/deep.py",
          under=("paper",), reading=ALWAYS),
    PaperClaim("water-joint-ratchet", "5.2 Ablation", _JOINT,
          rules.shorter("qcorm failed=length", "qcorm-0", _BOTH), "python paper/deep.py", under=("tuned",), reading=RATCHET),
    PaperClaim("water-joint-share", "5.2 Ablation", _JOINT,
          rules.shorter(_SHARED, "qcorm-0", _BOTH), "python paper/deep.py", under=("tuned",), reading=SHARE),
    PaperClaim("water-joint-mean", "5.2 Ablation", _JOINT,
          rules.shorter(_BEFORE, "qcorm-0", _BOTH), "python paper/deep.py", under=("tuned",), reading=MEAN),
    PaperClaim("water-coupled", "5.2 Ablation", "QCoRM-0 is ahead of CRM: the advantage of the coupled structure",
          rules.ahead("qcorm-0", ("crm agenda",), _BOTH), _WATER),
    PaperClaim("cheetah-crm-first", "5.2 HalfCheetah", "QCoRM converges more slowly than CRM at first, on B, C, D",
          rules.ahead("crm agenda", ("qcorm",), _BCD, rules.LIMIT // 3), _CHEETAH, reading=REWARD),
    PaperClaim("cheetah-four", "5.2 HalfCheetah", "Only QCoRM reaches four positions",
          rules.only("qcorm", _OTHERS, _BCDE), _CHEETAH, reading=REWARD),
    PaperClaim("cheetah-qrm-fails", "5.2 HalfCheetah", "QRM fails on both tasks",
          rules.fails("qrm agenda", _BCD + _BCDE), _CHEETAH),
    PaperClaim("cheetah-dirl-fails", "5.2 HalfCheetah", "DiRL fails on both tasks",
          rules.fails("dirl", _BCD + _BCDE), _CHEETAH),
    PaperClaim("cheetah-joint", "5.2 HalfCheetah", "QCoRM-0 is sub-optimal: QCoRM ends shorter",
          rules.shorter("qcorm", "qcorm-0", _BCD + _BCDE), _CHEETAH, reading=REWARD),
    PaperClaim("cheetah-joint-choice", "5.2 HalfCheetah", "QCoRM-0 is sub-optimal: QCoRM ends shorter",
          rules.shorter("qcorm xi_per=choice", "qcorm-0", _BCD + _BCDE), "python paper/deep.py", under=("tuned",), reading=CHOICE),
    PaperClaim("deep-qrm-flat", "5.3 Runtimes", "QRM's runtime does not change much in continuous domains",
          rules.grows(("qrm agenda",), "flat", _NETWORKED), _PACES, under=NETWORKS),
    PaperClaim("deep-qcorm-linear", "5.3 Runtimes", "QCoRM's runtime grows linearly with the number of subtasks",
          rules.grows(("qcorm",), "linear", _NETWORKED), _PACES, under=NETWORKS),
    PaperClaim("deep-crm-hrm-exponential", "5.3 Runtimes", "The runtimes of CRM and HRM grow exponentially",
          rules.grows(("crm agenda", "hrm agenda"), "exponential", _NETWORKED), _PACES, under=NETWORKS),
)  # fmt: skip
CLAIMS: tuple[PaperClaim, ...] = (*_TABULAR, *(PaperClaim(**{**vars(claim), "deep": True}) for claim in _DEEP))

ALL = (
    "A claim stands for checks, each made under both presets (runtimes of networks: for both kinds): all hold, "
    "reproduced; some, or all where a task was not run, partly; none, not reproduced. Where the presets disagree the claim is "
    "partly reproduced. Undecided: seeds differ too much to tell. Refuted: an exact computation contradicts it."
)
WITH_OPTIMUM = (
    "Tabular domains: a method has converged where the median of its seeds begins to stay within 10 % of the exact "
    "optimum, that is to lie there in 95 % of the evaluations that follow."
)
WITHOUT_OPTIMUM = (
    "Water and HalfCheetah: a value is the median of a seed's last three evaluations, since single "
    "greedy episodes jump. One method is ahead of another where a seed of it does better on average over the steps that "
    "both took (shortest length of any method / own length, 0 for a failure) with a chance, averaged over the maps that both were "
    "run on for 10^5 steps or more, whose 95 % interval lies above a half; behind where it lies below, and else it is undecided. "
    "A method is sub-optimal where it ends longer than the exact optimum; on HalfCheetah, whose optimum is not known, where some "
    "other ends shorter by the same measure. Fewer than 10^5 common steps decide nothing; "
    "'at first' means the first third of 10^6. A failure within fewer than 10^6 steps counts only where another method succeeds "
    "within as many. Runtimes are judged for both networks; flat means at most 1.25 times, linear and "
    "exponential are told apart by the better fit over at least four sizes. Verdicts hold for the steps that were run."
)
