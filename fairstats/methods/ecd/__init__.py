"""Extreme counterfactual discrimination (Monjezi et al.): what group membership alone can cost, at worst."""
