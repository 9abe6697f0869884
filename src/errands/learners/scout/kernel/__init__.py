"""Scout's compiled loops, in the order of reading: memory, explore, agenda, plan; tour (many subtasks); model (chance)."""
