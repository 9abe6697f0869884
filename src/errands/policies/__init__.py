"""Learnt policies at work: tables that act, agents that follow the machine, files that numpy alone acts by."""
