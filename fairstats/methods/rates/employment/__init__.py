"""Adverse impact of selection procedures: uniform guidelines, Local Law 144."""
