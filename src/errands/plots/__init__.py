"""Figures: each one is first computed as a value, then drawn."""
