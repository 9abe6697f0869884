"""A slippery world: the exact least expected steps, and policies judged by expectation rather than by one episode."""

import errands

FILE = """
name = "ice-{slip}"

[world]
kind = "grid"
rows = ["1..#..", "......", "A.~..2", "...#.."]
legend = {{ 1 = "flag_1", 2 = "flag_2", "~" = "hole" }}
slip = {slip}                     # the probability that a move goes to one of its two sides instead

[machine]
phrase = "avoid(hole, any_order(flag_1, flag_2))"
"""

print(f"{'slip':>5} {'optimum':>9} {'learner':>7} {'expected':>9} {'success':>8}  summary")
for slip in (0.0, 0.1, 0.3):
    task = errands.Task.from_toml(FILE.format(slip=slip))
    best = errands.optimum(task)
    for learner, steps in (("crm", 100_000), ("scout", 10_000)):
        judged = errands.train(task, learner, steps=steps, seed=0).certificate
        shown = f"{slip:5} {best.length:9.4f} {learner:>7} {judged.length:9.4f} {judged.success:8.4f}"
        print(f"{shown}  {judged.summary}")

print(
    "The optimum counts expected steps of sure success: beside the hole only moves that cannot slip into it are sure,"
)
print("so the sure way past it waits for a slip, the longer the rarer slips are. Learners maximise discounted reward,")
print("and a small risk of the hole may then cost less than the wait.")
