"""Audits: sections, views, reports."""
