"""MADD (Verger et al. 2024): the distance between the score distributions of groups, and its mitigation."""
