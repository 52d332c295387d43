"""Vignettes: R Markdown with Python and R chunks, rendered by either's tools as one HTML file
each.
"""
