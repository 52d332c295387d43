"""Highest density regions: the smallest regions that hold a stated probability.

`region.hdr` is the public function; `grids` says what both back ends must provide.
"""
