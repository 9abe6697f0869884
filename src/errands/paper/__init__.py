"""The paper: panels, claims, rules and the report, which is what `errands reproduce` needs and nothing else."""
