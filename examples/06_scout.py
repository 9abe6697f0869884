"""Scout: learn the world once, plan on it, and stop with a proof of its own, which the oracle then confirms."""

import errands

print(f"{'task':11} {'steps':>6} {'length':>6}  {'proved at':>9} {'optimum':>8}  order")
for name in ("figure-1", "office-3", "office-6", "visit-8"):
    task = errands.load(name)
    run = errands.train(task, "scout", steps=5_000)
    claim = run.certificate.claim
    proved = str(claim.step) if claim.proved else f"{claim.lower:g}..{claim.upper:g}"
    order = " ".join(run.order if len(run.order) < 9 else (*run.order[:8], "..."))
    print(f"{name:11} {run.steps:6,} {run.certificate.length:6g}  {proved:>9} {run.certificate.optimum:8g}  {order}")
    assert run.certificate.gap == 0

print("'proved at' is the environment step at which the learner itself knew that nothing untried can be shorter.")
