"""The paper's claims about its tabular domains, each judged by explicit rules from what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from errands.paper import claim_rules as rules
from errands.paper.claim_rules import Check
from errands.paper.evidence import Evidence

REPRODUCED, PARTLY, NOT, REFUTED, UNKNOWN = "reproduced", "partly", "not reproduced", "refuted", "not run"
UNDECIDED = "undecided"
Judge = Callable[[Evidence, str], list[Check]]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper and the checks that it stands for."""

    name: str
    where: str
    text: str
    judge: Judge = field(repr=False, compare=False)
    command: str
    exact: bool = False
    """Whether it is decided by computation, once for all presets: then failing means refuted."""
    under: tuple[str, ...] = ("tuned", "paper")
    """What it is judged under: presets, or the kinds of network whose runtimes are compared."""


@dataclass(frozen=True)
class Judged:
    """A claim with its verdict and the measurements behind it."""

    name: str
    where: str
    text: str
    verdict: str
    by_preset: dict[str, str]
    measured: dict[str, list[str]]
    command: str


def judge_all(evidence: Evidence, claims: Sequence[Claim] | None = None) -> list[Judged]:
    """Every claim judged, under each preset and over all; those about the tabular domains unless others are given."""
    return [judge(claim, evidence, ("exact",) if claim.exact else claim.under) for claim in claims or CLAIMS]


def judge(claim: Claim, evidence: Evidence, presets: Sequence[str]) -> Judged:
    """One claim judged."""
    checks = {preset: claim.judge(evidence, preset) for preset in presets}
    verdicts = {preset: verdict(found, claim.exact) for preset, found in checks.items()}
    said = {preset: [check.said for check in found] for preset, found in checks.items()}
    return Judged(claim.name, claim.where, claim.text, over_all(verdicts.values()), verdicts, said, claim.command)


def over_all(verdicts: Iterable[str]) -> str:
    """The verdict that all presets share, where they were run; partly where they do not agree."""
    found = set(verdicts) - {UNKNOWN}
    if found == {NOT, UNDECIDED}:
        return NOT
    return found.pop() if len(found) == 1 else PARTLY if found else UNKNOWN


def verdict(checks: Sequence[Check], exact: bool) -> str:
    """All checks that could be made hold: reproduced; some: partly; none: not reproduced, or refuted if exact.

    A check that was made and did not tell counts as one that does not hold, unless all are of that kind: undecided.
    """
    made = [check.holds for check in checks if check.holds is not None]
    undecided = any(check.undecided for check in checks)
    if not made:
        return UNDECIDED if undecided else UNKNOWN
    if all(made):
        return PARTLY if undecided else REPRODUCED
    return PARTLY if any(made) else REFUTED if exact else NOT


PANELS = ("delivery-2", "delivery-8", "office-3", "office-6")
_DELIVERY = "errands reproduce delivery-2 delivery-8 --profile full"
_OFFICE = "errands reproduce office-3 office-6 --profile full"
_RUNTIME = "errands reproduce delivery-runtime office-runtime --profile full"

CLAIMS: tuple[Claim, ...] = (
    Claim("qcorm-optimal", "5.1 Delivery", "QCoRM converges to an optimal policy for two and for eight boxes",
          rules.reaches_optimum("qcorm", ("delivery-2", "delivery-8")), _DELIVERY),
    Claim("hrm-fastest-2", "5.1 Delivery", "HRM converges fastest for two boxes",
          rules.fastest(("hrm agenda", "hrm boolean"), ("delivery-2",)), _DELIVERY),
    Claim("hrm-fails-8", "5.1 Delivery", "HRM fails to converge for eight boxes",
          rules.never_settles("hrm agenda", ("delivery-8",)), _DELIVERY),
    Claim("qcorm-before-crm-delivery", "5.1 Delivery", "QCoRM converges before the CRM methods, for 2 and 8 boxes",
          rules.before(("qcorm",), ("crm agenda", "crm boolean"), ("delivery-2", "delivery-8")), _DELIVERY),
    Claim("agenda-crm-faster", "5.1 Delivery", "CRM converges faster with agenda than with Boolean machines",
          rules.sooner("crm agenda", "crm boolean", tuple(f"delivery-{n}" for n in range(2, 9))),
          "errands reproduce delivery-runtime --profile full"),
    Claim("dirl-delivery", "5.1 Delivery", "DiRL is sub-optimal for two boxes and fails for eight",
          rules.both(rules.sub_optimal("dirl", ("delivery-2",)), rules.fails("dirl", ("delivery-8",))), _DELIVERY),
    Claim("boolean-memory", "5.1 Delivery", "Boolean machines for more than five boxes exceed 16 GiB of memory",
          rules.boolean_memory(range(6, 9)), "errands size delivery-8", exact=True),
    Claim("qcorm-before-crm-office", "5.1 Office", "QCoRM outperforms the CRM methods, for three and six offices",
          rules.before(("qcorm",), ("crm agenda", "crm boolean"), ("office-3", "office-6")), _OFFICE),
    Claim("crm-similar-office", "5.1 Office", "CRM converges at similar rates with agenda and Boolean machines",
          rules.similar("crm agenda", "crm boolean", tuple(f"office-{n}" for n in range(2, 7))),
          "errands reproduce office-runtime --profile full"),
    Claim("hrm-sub-optimal-office", "5.1 Office", "HRM converges to sub-optimal policies",
          rules.sub_optimal("hrm agenda", ("office-3", "office-6")), _OFFICE),
    Claim("qrm-slowest-office", "5.1 Office", "QRM converges slowest",
          rules.slowest(("qrm agenda", "qrm boolean"), ("office-3", "office-6")), _OFFICE),
    Claim("dirl-office", "5.1 Office", "DiRL converges for three offices and fails for six",
          rules.both(rules.succeeds("dirl", ("office-3",)), rules.fails("dirl", ("office-6",))), _OFFICE),
    Claim("qcorm-linear", "5.3 Runtimes", "QCoRM's runtime grows linearly with the number of subtasks",
          rules.grows(("qcorm",), "linear"), _RUNTIME),
    Claim("crm-hrm-exponential", "5.3 Runtimes", "The runtimes of CRM and HRM grow exponentially",
          rules.grows(("crm agenda", "hrm agenda", "crm boolean", "hrm boolean"), "exponential"), _RUNTIME),
    Claim("qrm-exponential", "5.3 Runtimes", "QRM's runtime grows exponentially in tabular domains",
          rules.grows(("qrm agenda", "qrm boolean"), "exponential"), _RUNTIME),
    Claim("boolean-time", "5.3 Runtimes", "Boolean CRM and HRM exceed the limit of 40 hours in large tasks",
          rules.exceeds_hours(("crm boolean", "hrm boolean"), 40.0), _RUNTIME + " --boolean-large"),
    Claim("theorem-1-reward", "5.2 Ablation", "Theorem 1's reward leads to shorter policies than QCoRM-0's (shown on Water)",
          rules.improves("qcorm", "qcorm-0", PANELS), "errands reproduce --profile full"),
    Claim("coupled-structure", "5.2 Ablation", "QCoRM-0 still has a structural advantage over CRM (shown on Water)",
          rules.before(("qcorm-0",), ("crm agenda",), PANELS), "errands reproduce --profile full"),
    Claim("global-optimality", "4 Theorem 1", "One policy per subtask, jointly optimised, is globally optimal",
          rules.one_policy_is_optimal(("delivery-2", "office-3", "office-6", "corridor")),
          "errands solve office-6 --one-policy-per-subtask", exact=True),
)  # fmt: skip
