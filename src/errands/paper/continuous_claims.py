"""The paper's claims about Water and HalfCheetah (Sections 5.2 and 5.3), each with the rule that judges it."""

from __future__ import annotations

from errands.paper import continuous_rules as rules
from errands.paper.claim_rules import both
from errands.paper.claims import Claim
from errands.paper.continuous import NETWORKS

_BOTH = ("water-3", "water-5")
_OTHERS = ("crm agenda", "hrm agenda", "qrm agenda", "dirl")
_WATER = "errands reproduce water-3 water-5 --profile full"
_BCD, _BCDE = ("cheetah-bcd",), ("cheetah-bcde",)
_CHEETAH = "errands reproduce cheetah-bcd cheetah-bcde --profile full"
_RUNTIME = "errands reproduce water-runtime cheetah-runtime --profile full"

CONTINUOUS: tuple[Claim, ...] = (
    Claim("water-qcorm-fastest", "5.2 Water", "QCoRM converges fastest for three and five balls",
          rules.ahead("qcorm", _OTHERS, _BOTH), _WATER),
    Claim("water-crm-next", "5.2 Water", "then CRM, before HRM",
          rules.ahead("crm agenda", ("hrm agenda",), _BOTH), _WATER),
    Claim("water-hrm-sub-optimal", "5.2 Water", "HRM converges to sub-optimal policies",
          rules.sub_optimal("hrm agenda", _BOTH), _WATER),
    Claim("water-hrm-before-qrm", "5.2 Water", "HRM converges before QRM",
          rules.ahead("hrm agenda", ("qrm agenda",), _BOTH), _WATER),
    Claim("water-dirl-last", "5.2 Water", "DiRL comes last, and is sub-optimal",
          both(rules.ahead("qrm agenda", ("dirl",), _BOTH), rules.sub_optimal("dirl", _BOTH)), _WATER),
    Claim("water-similar", "5.2 Water", "Results are similar on the other Water instances: QCoRM converges fastest",
          rules.ahead("qcorm", _OTHERS, ("water-2*", "water-4*", "water-3, *", "water-5, *")),
          "errands reproduce water --profile full"),
    Claim("water-joint", "5.2 Ablation", "Without Theorem 1's reward (QCoRM-0) policies are sub-optimal: QCoRM ends shorter",
          rules.shorter("qcorm", "qcorm-0", _BOTH), _WATER),
    Claim("water-coupled", "5.2 Ablation", "QCoRM-0 is ahead of CRM: the advantage of the coupled structure",
          rules.ahead("qcorm-0", ("crm agenda",), _BOTH), _WATER),
    Claim("cheetah-crm-first", "5.2 HalfCheetah", "QCoRM converges more slowly than CRM at first, on B, C, D",
          rules.ahead("crm agenda", ("qcorm",), _BCD, rules.LIMIT // 3), _CHEETAH),
    Claim("cheetah-four", "5.2 HalfCheetah", "Only QCoRM reaches four positions",
          both(rules.succeeds("qcorm", _BCDE), *(rules.fails((name,), _BCDE) for name in _OTHERS)), _CHEETAH),
    Claim("cheetah-qrm-fails", "5.2 HalfCheetah", "QRM fails on both tasks",
          rules.fails(("qrm agenda",), _BCD + _BCDE), _CHEETAH),
    Claim("cheetah-dirl-fails", "5.2 HalfCheetah", "DiRL fails on both tasks",
          rules.fails(("dirl",), _BCD + _BCDE), _CHEETAH),
    Claim("cheetah-joint", "5.2 HalfCheetah", "QCoRM-0 is sub-optimal: QCoRM ends shorter",
          rules.shorter("qcorm", "qcorm-0", _BCD + _BCDE), _CHEETAH),
    Claim("deep-qrm-flat", "5.3 Runtimes", "QRM's runtime does not change much in continuous domains",
          rules.grows(("qrm agenda",), "flat"), _RUNTIME, under=NETWORKS),
    Claim("deep-qcorm-linear", "5.3 Runtimes", "QCoRM's runtime grows linearly with the number of subtasks",
          rules.grows(("qcorm",), "linear"), _RUNTIME, under=NETWORKS),
    Claim("deep-crm-hrm-exponential", "5.3 Runtimes", "The runtimes of CRM and HRM grow exponentially",
          rules.grows(("crm agenda", "hrm agenda"), "exponential"), _RUNTIME, under=NETWORKS),
)  # fmt: skip
RULES = (
    "Water and HalfCheetah: the optimum is not known there. A value is the median of a seed's last three evaluations, since single "
    "greedy episodes jump. One method is ahead of another where a seed of it does better on average over the steps that "
    "both took (shortest length of any method / own length, 0 for a failure) with a chance whose 95 % interval lies above a half, "
    "behind where it lies below, and else it is undecided; "
    "it is sub-optimal where some other ends shorter by the same measure. Fewer than 10^5 common steps decide nothing; "
    "'at first' means the first third of 10^6. A failure within fewer than 10^6 steps counts only where another method succeeds "
    "within as many. Runtimes are judged for both networks; flat means at most 1.25 times, linear and "
    "exponential are told apart by the better fit over at least four sizes. Verdicts hold for the steps that were run."
)
