"""QCoRM on the paper's Figure 1: the learnt steps to go of every coupled state beside the exact ones."""

import errands
from errands.learners.qcorm.settings import QCoRMConfig
from errands.oracle.optimum import steps_to_go

task = errands.load("figure-1")
# Exploration costs steps and shows in the estimates; it fades out so that the last third is greedy.
config = QCoRMConfig(epsilon="0.1..0@40000,60000", xi="1..0@0,60000 steps")
run = errands.train(task, "qcorm", steps=90_000, seed=0, config=config)

print(f"order {' '.join(run.order)}; {run.certificate.summary}")
exact = steps_to_go(task)
print(f"{'coupled state':14} {'learnt':>7} {'exact':>6}")
for label in sorted(exact):
    print(f"{label:14} {run.steps_to_go.get(label, float('nan')):7.1f} {exact[label]:6g}")
print("In the first state the agent takes b2 first: 10 steps to go rather than 12.")
