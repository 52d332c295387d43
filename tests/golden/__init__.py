"""The golden file: what every public function returned before the house was rebuilt.

`golden.json.gz` holds, for every case of `cases`, all fields of the result: its dictionary, its
table, its sentences and notes, its attributes, its warnings. `test_golden.py` computes the cases
anew and compares field by field: closed forms to 1e-12, what an optimiser finds to 1e-8, seeded
draws exactly or within four Monte Carlo errors. `names.py` maps the recorded names of classes and
fields to today's, and lists what is gone or reworded, with the reason. Fields that are new are not
looked at.

A number that changes on purpose needs a line in the changelog that says why. Then record that case
again,

    python -m tests.golden.record tests/golden/golden.json.gz --only "rates/group_metric/*"

and look at the difference. A field that gets another name, or goes, gets a line in `names.py`;
nothing is recorded again for it. One room by itself: ``pytest tests/golden -k rates/``; one case:
``-k madd/curve``."""
