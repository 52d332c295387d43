"""Numerical methods with two back ends."""
