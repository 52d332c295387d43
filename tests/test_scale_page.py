"""The table of costs by groups is what its record makes."""

from __future__ import annotations

from .benchmarks import groups_scale


def test_page_is_what_the_record_makes() -> None:
    assert groups_scale.write_page() == groups_scale.PAGE.read_text(encoding="utf-8")


def test_record_has_every_axis() -> None:
    record = groups_scale.read_record()
    assert {entry["groups"] for entry in record} >= {2, 20, 200}
    assert {entry["rows"] for entry in record} >= {100, 1_000, 10_000, 100_000}
    assert all(entry["seconds"] > 0 and entry["megabytes"] > 0 for entry in record)


def test_no_call_takes_more_than_64_megabytes() -> None:
    for entry in groups_scale.read_record():
        assert entry["megabytes"] < 64, entry


def test_cost_grows_as_the_groups_do() -> None:
    """From 20 to 200 groups, all against the reference: at most as n^1.2."""
    seconds = {
        (entry["call"], entry["groups"]): entry["seconds"] for entry in groups_scale.read_record()
    }
    for call in ("`abroca` against a reference", "`madd` against a reference"):
        assert seconds[call, 200] / seconds[call, 20] <= 10**1.2
