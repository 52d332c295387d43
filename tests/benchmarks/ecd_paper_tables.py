"""Tables III, IV, V and VII of the ECD paper, as printed; MEPS is left out."""

from __future__ import annotations

#: Table IV as printed: difference of ACD, and location of the privileged and the unprivileged
#: group.
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
#: Table V: ECD under Fair-SMOTE, in the same order.
TABLE_V_SMOTE = {
    "Adult, race": (0.40, 0.08, 0.17, 0.10),
    "Adult, sex": (0.29, 0.43, 0.07, 0.20),
    "COMPAS, race": (0.07, 0.06, 0.05, 0.15),
    "German credit, sex": (0.09, 0.04, 0.15, 0.11),
    "Bank, age": (0.22, 0.24, 0.05, 0.06),
    "Default, sex": (0.19, 0.10, 0.06, 0.06),
    "Heart, sex": (0.06, 0.06, 0.12, 0.12),
    "Student, sex": (None, 0.03, 0.01, 0.05),
}
#: Table VII: ECD of LR and DNN under MiniMax and under ECD-Fair.
TABLE_VII = {
    "MiniMax": {
        "Adult, race": (0.17, 0.14),
        "Adult, sex": (0.07, 0.03),
        "COMPAS, race": (0.04, 0.17),
        "German credit, sex": (0.13, 0.02),
        "Bank, age": (0.02, 0.05),
        "Default, sex": (0.03, 0.08),
        "Heart, sex": (0.10, 0.01),
        "Student, sex": (0.08, 0.21),
    },
    "EcdSearch": {
        "Adult, race": (0.03, 0.02),
        "Adult, sex": (0.05, 0.04),
        "COMPAS, race": (0.04, 0.03),
        "German credit, sex": (0.00, 0.02),
        "Bank, age": (0.04, 0.02),
        "Default, sex": (0.03, 0.06),
        "Heart, sex": (0.02, 0.01),
        "Student, sex": (0.01, 0.03),
    },
}
#: Table III: Fréchet distance, KL, logistic detection and F1 loss of CTGAN, TVAE and random rows.
TABLE_III = {
    "Adult": ((0.02, 0.93, 0.74, 0.03), (0.01, 0.93, 0.78, 0.01), (0.11, 0.19, 0.01, 0.25)),
    "COMPAS": ((0.08, 0.97, 0.61, 0.00), (0.08, 0.98, 0.63, 0.00), (0.30, 0.76, 0.02, 0.51)),
    "German credit": ((0.05, 0.13, 0.39, 0.20), (0.06, 0.15, 0.54, 0.00), (0.07, 0.15, 0.05, 0.17)),
    "Bank": ((0.02, 0.88, 0.73, 0.00), (0.03, 0.81, 0.67, 0.00), (0.20, 0.12, 0.01, 0.26)),
    "Default": ((0.03, 0.82, 0.65, 0.01), (0.04, 0.72, 0.47, 0.03), (0.34, 0.33, 0.00, 0.13)),
    "Heart": ((0.09, 0.93, 0.54, 0.16), (0.13, 0.77, 0.35, 0.09), (0.13, 0.31, 0.15, 0.39)),
    "Student": ((0.09, 0.90, 0.22, 0.18), (0.09, 0.97, 0.18, 0.02), (0.10, 0.87, 0.02, 0.76)),
}
