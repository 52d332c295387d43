"""MADD (Verger et al. 2024).

The distance between the score distributions of groups, and its mitigation.
"""
