"""A small sweep in Python: two learners, two tasks, five seeds; medians, quartiles, IQM and who ends shorter."""

import errands
from errands.analysis.compare import improvement, overall, summarise_all
from errands.analysis.curve import curve_of

STEPS, SEEDS = 60_000, 5

curves = []
for name in ("delivery-3", "office-2"):
    task = errands.load(name)
    best = errands.optimum(task).length
    for learner in ("qcorm", "crm"):
        runs = [errands.train(task, learner, steps=STEPS, seed=seed) for seed in range(SEEDS)]
        curves.append(curve_of(learner, name, [run.evaluations for run in runs], best))

print(f"{'task':11} {'learner':8} {'optimum':>7} {'length, quartiles':>18} {'optimal':>8} {'first optimum':>14}")
for row in summarise_all(curves):
    q1, median, q3 = row.final.values
    first = row.first_optimal.values[1]
    met = "-" if first is None else f"{first:,.0f}"
    print(f"{row.task:11} {row.name:8} {row.optimum:7g} {f'{median} [{q1}, {q3}]':>18} {row.optimal:8.0%} {met:>14}")

for name, score in overall(curves).items():
    print(f"IQM of optimum / length over both tasks, {name:5}: {score.value:.3f} [{score.low:.3f}, {score.high:.3f}]")
chance = improvement([c for c in curves if c.name == "qcorm"], [c for c in curves if c.name == "crm"])
print(f"P(qcorm ends shorter than crm) = {chance.value:.2f} [{chance.low:.2f}, {chance.high:.2f}]")
