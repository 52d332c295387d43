"""Numerical methods with two back ends, and random splits of counts."""
