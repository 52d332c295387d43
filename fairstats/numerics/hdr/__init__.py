"""Highest density regions, the smallest that hold a stated probability: `region.hdr`."""
