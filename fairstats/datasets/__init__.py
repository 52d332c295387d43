"""Small real data sets with their licences and known faults, and readers for the user's own copies.

``load_*`` give data that travel with the package; ``read_*`` read files that you downloaded, in the
layout in which they are published. Nothing here uses the network. Each returns a `Dataset`, which
unpacks as ``frame, description``; print the description before using the data.
"""

from __future__ import annotations

from fairstats.datasets.description import (
    Dataset,
    DatasetDescription,
    load_adult,
    load_compas,
    load_german_credit,
    load_ricci,
)
from fairstats.datasets.readers import (
    read_adult,
    read_bank,
    read_compas,
    read_credit_default,
    read_heart,
    read_student,
)
from fairstats.datasets.studies import oulad_course_table, read_meps, read_oulad

__all__ = [
    "Dataset",
    "DatasetDescription",
    "load_adult",
    "load_compas",
    "load_german_credit",
    "load_ricci",
    "oulad_course_table",
    "read_adult",
    "read_bank",
    "read_compas",
    "read_credit_default",
    "read_heart",
    "read_meps",
    "read_oulad",
    "read_student",
]
