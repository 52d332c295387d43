"""Uncertainty Matters: posteriors of performance and fairness metrics jointly (Barrainkua et al.
2024).
"""
