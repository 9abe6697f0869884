"""A drawn grid, a task on it, its exact optimum, and what one policy per subtask could reach at best."""

import errands
from errands.oracle.one_policy import one_policy_per_subtask

task = errands.Task.from_toml("""
name = "garden"

[world]
kind = "grid"                                   # '.' free, '#' wall, 'A' start, other signs by the legend
rows = ["w..#...r",
        "...#....",
        "A.....#.",
        "...#..#.",
        "w..#..#t"]
legend = { w = "water", r = "roses", t = "tulips" }

[machine]
phrase = "any_order(roses, tulips, before=water)"
""")
best = errands.optimum(task)
print(f"shortest episode: {best.length} steps, order {' '.join(best.order)}")
print(f"optimal orders: {best.orders}; found by {best.method}")
print("actions:", "".join("^>v<"[a] for a in best.actions))

single = one_policy_per_subtask(task)
print(f"with one policy per subtask, as the paper's QCoRM has: {single.length} steps")

corridor = one_policy_per_subtask(errands.load("corridor"))
print(f"the corridor of the catalogue: optimum {corridor.optimum}, one policy per subtask {corridor.length}")
