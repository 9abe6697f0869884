"""The benchmark of unordered tasks, `errands reproduce unordered`: how far above the optimum methods end as tasks grow."""
