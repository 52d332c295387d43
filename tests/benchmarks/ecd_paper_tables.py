"""Tables IV and V of the ECD paper, as printed."""

from __future__ import annotations

#: Table IV as printed: difference of ACD, and location of the privileged and the unprivileged group.
TABLE_IV = {
    ("Adult, race", "MLP"): (0.07, 0.15, 0.28),
    ("Adult, sex", "MLP"): (0.05, 0.03, 0.24),
    ("COMPAS, race", "MLP"): (0.02, 0.02, 0.13),
    ("German credit, sex", "MLP"): (0.05, 0.00, 0.09),
    ("Bank, age", "MLP"): (0.00, 0.08, 0.07),
    ("Default, sex", "MLP"): (0.03, 0.01, 0.11),
    ("Heart, sex", "MLP"): (-0.02, 0.01, 0.00),
    ("Student, sex", "MLP"): (0.02, 0.00, 0.09),
    ("Adult, race", "LR"): (0.09, 0.00, 0.11),
    ("Adult, sex", "LR"): (0.06, 0.00, 0.07),
    ("COMPAS, race", "LR"): (-0.04, 0.00, 0.06),
    ("German credit, sex", "LR"): (0.09, -0.02, 0.08),
    ("Bank, age", "LR"): (0.00, 0.00, 0.01),
    ("Default, sex", "LR"): (0.04, 0.00, 0.03),
    ("Heart, sex", "LR"): (-0.02, 0.01, 0.00),
    ("Student, sex", "LR"): (0.04, 0.00, 0.10),
    ("Adult, race", "SVM"): (0.04, 0.28, 0.31),
    ("Adult, sex", "SVM"): (0.04, 0.01, 0.16),
    ("COMPAS, race", "SVM"): (0.00, 0.00, 0.01),
    ("German credit, sex", "SVM"): (0.01, 0.01, 0.03),
    ("Bank, age", "SVM"): (0.01, 0.10, 0.17),
    ("Default, sex", "SVM"): (0.00, 0.03, 0.04),
    ("Heart, sex", "SVM"): (0.00, 0.01, 0.00),
    ("Student, sex", "SVM"): (0.00, 0.01, 0.01),
    ("Adult, race", "RF"): (0.04, 0.54, 0.55),
    ("Adult, sex", "RF"): (-0.04, 0.36, 0.54),
    ("COMPAS, race", "RF"): (0.02, 0.36, 0.54),
    ("German credit, sex", "RF"): (0.01, 0.07, 0.10),
    ("Bank, age", "RF"): (-0.01, 0.15, 0.13),
    ("Default, sex", "RF"): (-0.01, 0.65, 0.63),
    ("Heart, sex", "RF"): (0.00, 0.05, 0.05),
    ("Student, sex", "RF"): (0.00, 0.03, 0.04),
}
#: Table V as printed: ECD under EG, in the order of the columns; None where it says "NV".
TABLE_V = {
    "Adult, race": (0.47, 0.31, 0.07, 0.08),
    "Adult, sex": (0.19, 0.72, 0.04, 0.11),
    "COMPAS, race": (0.22, 0.02, 0.03, 0.09),
    "German credit, sex": (0.02, 0.23, None, 0.65),
    "Bank, age": (0.13, 0.03, 0.17, 0.09),
    "Default, sex": (0.10, 0.02, 0.02, 0.30),
    "Heart, sex": (0.37, 0.10, 0.06, 0.17),
    "Student, sex": (0.05, 0.72, None, 0.09),
}
