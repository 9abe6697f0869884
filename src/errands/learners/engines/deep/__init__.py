"""Deep learners: DDQN and TD3 under every method of the paper, whole loops compiled by JAX (Section 5)."""
