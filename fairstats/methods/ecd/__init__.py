"""Extreme counterfactual discrimination (Monjezi et al.).

What group membership alone can cost, at worst.
"""
