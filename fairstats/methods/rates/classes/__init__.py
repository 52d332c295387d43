"""Rates of several classes, compared between groups."""
