"""Tallies made where the data are: lazy tables of any engine.

Only grouped counts and sums are collected.
"""
