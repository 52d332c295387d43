"""Data sets that the user downloads: what the readers expect and what is known of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from fairstats.datasets.catalogue_bundled import COMPAS
from fairstats.datasets.description import CatalogueEntry, real, text, whole

__all__ = ["BANK", "COMPAS_VIOLENT", "CREDIT_DEFAULT", "HEART", "OULAD", "OULAD_COURSE", "STUDENT"]

_CC_BY = "Creative Commons Attribution 4.0 International (CC BY 4.0)"

COMPAS_VIOLENT: Final = replace(
    COMPAS,
    name="compas_two_years_violent",
    title="COMPAS scores and two-year violent recidivism, Broward County, Florida, 2013-2014",
    source="ProPublica, github.com/propublica/compas-analysis, compas-scores-two-years-violent.csv",
    columns={
        **COMPAS.columns,
        "two_year_recid": whole("1: charged with a new violent offence within two years, 0: not"),
    },
    faults=(
        *COMPAS.faults[:1],
        *COMPAS.faults[2:4],
        "Rows with a `decile_score` of -1 have no risk of recidivism score; their `score_text` is missing.",
        "Rows whose screening does not match an arrest within 30 days are included; subset='propublica' "
        "leaves them out as ProPublica did.",
    ),
    y_pred="v_score_text",
    score="v_decile_score",
)

BANK: Final = CatalogueEntry(
    name="bank_full",
    title="Bank marketing: phone campaigns of a Portuguese bank, 2008-2010",
    source="UCI Machine Learning Repository, Bank Marketing, bank-full.csv; DOI 10.24432/C5K306",
    citation=(
        "Moro, S., Laureano, R. and Cortez, P. (2011). Using Data Mining for Bank Direct Marketing: An "
        "Application of the CRISP-DM Methodology. ESM'2011, 117-121."
    ),
    licence=_CC_BY,
    columns={
        "age": whole("Age in years"),
        "job": text("Kind of job"),
        "marital": text("Marital status: married, single, divorced (or widowed)"),
        "education": text("Education: primary, secondary, tertiary, unknown"),
        "default": text("Credit in default: yes, no"),
        "balance": whole("Average yearly balance in euros"),
        "housing": text("Housing loan: yes, no"),
        "loan": text("Personal loan: yes, no"),
        "contact": text("Kind of contact: cellular, telephone, unknown"),
        "day": whole("Day of the month of the last contact"),
        "month": text("Month of the last contact, jan to dec"),
        "duration": whole("Duration of the last contact in seconds"),
        "campaign": whole("Contacts in this campaign, with the last one"),
        "pdays": whole("Days since the contact of an earlier campaign; -1: none"),
        "previous": whole("Contacts before this campaign"),
        "poutcome": text("Outcome of the earlier campaign: success, failure, other, unknown"),
        "y": text("yes: subscribed to a term deposit, no: not"),
    },
    faults=(
        "`duration` is known only after the call, when `y` is known too: leave it out of any model.",
        "Missing values are the word 'unknown', kept as it is.",
    ),
    y_true="y",
    sensitive_features=("age", "marital"),
    favorable_label="yes",
    reference={"marital": "married"},
)

_MONTHS = ("September", "August", "July", "June", "May", "April")

CREDIT_DEFAULT: Final = CatalogueEntry(
    name="credit_default",
    title="Default of credit card clients, Taiwan, 2005",
    source="UCI Machine Learning Repository, Default of Credit Card Clients; DOI 10.24432/C55S3H",
    citation=(
        "Yeh, I.-C. and Lien, C. (2009). The comparisons of data mining techniques for the predictive "
        "accuracy of probability of default of credit card clients. Expert Systems with Applications 36(2), "
        "2473-2480."
    ),
    licence=_CC_BY,
    columns={
        "LIMIT_BAL": whole("Credit limit in NT dollars, with supplementary family credit"),
        "SEX": whole("1 male, 2 female"),
        "EDUCATION": whole("1 graduate school, 2 university, 3 high school, 4 others; 0, 5, 6 undocumented"),
        "MARRIAGE": whole("1 married, 2 single, 3 others; 0 undocumented"),
        "AGE": whole("Age in years"),
        **{
            f"PAY_{i}": whole(
                f"Repayment status in {month}: -1 paid duly, n: n months late; -2, 0 undocumented"
            )
            for i, month in zip((0, 2, 3, 4, 5, 6), _MONTHS, strict=True)
        },
        **{
            f"BILL_AMT{i}": whole(f"Bill statement of {month} in NT dollars")
            for i, month in enumerate(_MONTHS, start=1)
        },
        **{
            f"PAY_AMT{i}": whole(f"Amount paid in {month} in NT dollars")
            for i, month in enumerate(_MONTHS, start=1)
        },
        "default_payment_next_month": whole("1: default in October 2005, 0: not"),
    },
    faults=(
        "`EDUCATION` 0, 5 and 6, `MARRIAGE` 0 and `PAY_*` -2 and 0 occur and are not documented.",
        "The repayment columns are PAY_0, PAY_2, …, PAY_6: there is no PAY_1.",
        "35 rows are identical to another one once the row number ID is left out, as it is here.",
    ),
    y_true="default_payment_next_month",
    sensitive_features=("SEX", "EDUCATION", "MARRIAGE", "AGE"),
    favorable_label=0,
    reference={"SEX": 1},
)

HEART: Final = CatalogueEntry(
    name="heart_cleveland",
    title="Heart disease, Cleveland Clinic Foundation",
    source="UCI Machine Learning Repository, Heart Disease, processed.cleveland.data; DOI 10.24432/C52P4X",
    citation=(
        "Detrano, R. et al. (1989). International application of a new probability algorithm for the "
        "diagnosis of coronary artery disease. American Journal of Cardiology 64(5), 304-310."
    ),
    licence=_CC_BY,
    columns={
        "age": real("Age in years"),
        "sex": real("1 male, 0 female"),
        "cp": real("Chest pain: 1 typical angina, 2 atypical angina, 3 other pain, 4 none"),
        "trestbps": real("Resting blood pressure in mm Hg"),
        "chol": real("Serum cholesterol in mg/dl"),
        "fbs": real("1: fasting blood sugar above 120 mg/dl"),
        "restecg": real("Resting ECG: 0 normal, 1 ST-T abnormality, 2 left ventricular hypertrophy"),
        "thalach": real("Highest heart rate reached"),
        "exang": real("1: angina brought on by exercise"),
        "oldpeak": real("ST depression by exercise, relative to rest"),
        "slope": real("Slope of the peak exercise ST segment: 1 up, 2 flat, 3 down"),
        "ca": real("Major vessels coloured by fluoroscopy, 0 to 3; missing in 4 rows"),
        "thal": real("Thallium scan: 3 normal, 6 fixed defect, 7 reversible defect; missing in 2 rows"),
        "num": whole("Diagnosis: 0 no disease, 1 to 4 disease (usually joined: num > 0)"),
    },
    faults=(
        "303 rows, 297 of them complete; 97 women: intervals by sex are wide.",
        "`num` is 0 to 4 (164, 55, 36, 35 and 13 rows); copies with other values are damaged.",
    ),
    y_true="num",
    sensitive_features=("sex", "age"),
    favorable_label=0,
    reference={"sex": 1},
)

_YES_NO = {
    "schoolsup": "Extra educational support from the school",
    "famsup": "Educational support from the family",
    "paid": "Extra paid classes in the subject",
    "activities": "Extra-curricular activities",
    "nursery": "Attended nursery school",
    "higher": "Wants to take higher education",
    "internet": "Internet access at home",
    "romantic": "In a romantic relationship",
}
_SCALES = {
    "famrel": "Quality of family relations, 1 very bad to 5 excellent",
    "freetime": "Free time after school, 1 very low to 5 very high",
    "goout": "Going out with friends, 1 very low to 5 very high",
    "Dalc": "Alcohol on workdays, 1 very low to 5 very high",
    "Walc": "Alcohol at weekends, 1 very low to 5 very high",
    "health": "Present health, 1 very bad to 5 very good",
    "absences": "Number of absences from school",
    "G1": "Grade of the first period, 0 to 20",
    "G2": "Grade of the second period, 0 to 20",
    "G3": "Final grade, 0 to 20 (10 passes)",
}

STUDENT: Final = CatalogueEntry(
    name="student",
    title="Student performance in mathematics and Portuguese, two schools in Portugal, 2005-2006",
    source="UCI Machine Learning Repository, Student Performance; DOI 10.24432/C5TG7T",
    citation=(
        "Cortez, P. and Silva, A. (2008). Using Data Mining to Predict Secondary School Student Performance. "
        "FUBUTEC 2008, 5-12."
    ),
    licence=_CC_BY,
    columns={
        "school": text("School: GP Gabriel Pereira, MS Mousinho da Silveira"),
        "sex": text("Sex: F, M"),
        "age": whole("Age in years, 15 to 22"),
        "address": text("Home: U urban, R rural"),
        "famsize": text("Family: LE3 three or fewer, GT3 more than three"),
        "Pstatus": text("Parents: T living together, A apart"),
        "Medu": whole("Mother's education: 0 none, 1 primary, 2 to 9th grade, 3 secondary, 4 higher"),
        "Fedu": whole("Father's education, coded as `Medu`"),
        "Mjob": text("Mother's job: teacher, health, services, at_home, other"),
        "Fjob": text("Father's job, coded as `Mjob`"),
        "reason": text("Reason to choose the school: home, reputation, course, other"),
        "guardian": text("Guardian: mother, father, other"),
        "traveltime": whole("Way to school: 1 < 15 min, 2 15-30 min, 3 30-60 min, 4 > 1 hour"),
        "studytime": whole("Study a week: 1 < 2 hours, 2 2-5, 3 5-10, 4 > 10"),
        "failures": whole("Classes failed before, 0 to 3"),
        **{name: text(f"{meaning}: yes, no") for name, meaning in _YES_NO.items()},
        **{name: whole(meaning) for name, meaning in _SCALES.items()},
        "subject": text("File the row comes from: mat mathematics, por Portuguese"),
    },
    faults=(
        "382 students are in both files (by attributes, there is no identifier): rows are not independent.",
        "`G1` and `G2` nearly determine `G3`; a model with them says little about the other columns.",
        "A final grade of 0 can mean that the student dropped out.",
    ),
    y_true="G3",
    sensitive_features=("sex", "address", "age"),
    reference={"sex": "M", "address": "U"},
)

_OULAD_SOURCE = "Open University Learning Analytics Dataset, analyse.kmi.open.ac.uk/open_dataset"
_OULAD_CITATION = (
    "Kuzilek, J., Hlosta, M. and Zdrahal, Z. (2017). Open University Learning Analytics dataset. Scientific "
    "Data 4, 170171."
)

OULAD: Final = CatalogueEntry(
    name="oulad_students",
    title="OULAD: enrolments of the Open University, 2013-2014, with their total clicks",
    source=_OULAD_SOURCE,
    citation=_OULAD_CITATION,
    licence=_CC_BY,
    columns={
        "code_module": text("Course, AAA to GGG"),
        "code_presentation": text("Year and start: B February, J October"),
        "id_student": whole("Number of the student, anonymous; a student may have several rows"),
        "gender": text("Gender: F, M"),
        "region": text("Region of the United Kingdom or Ireland"),
        "highest_education": text("Highest education on entry, five levels"),
        "imd_band": text("Deprivation of the home area: 0-10% most deprived to 90-100% least"),
        "age_band": text("Age: 0-35, 35-55, 55<="),
        "num_of_prev_attempts": whole("Earlier attempts at this course"),
        "studied_credits": whole("Credits of all courses studied at the time"),
        "disability": text("Declared disability: Y, N"),
        "final_result": text("Pass, Distinction, Fail, Withdrawn"),
        "sum_click": real("Total clicks in the virtual learning environment; missing: no activity recorded"),
    },
    faults=(
        "One `imd_band` is spelt '10-20', without the percent sign; 1,111 rows have none.",
        "28,785 students have 32,593 rows: rows are not independent.",
        "`sum_click` counts the whole course, also what happened after a student was bound to fail.",
    ),
    y_true="final_result",
    sensitive_features=("gender", "age_band", "disability", "imd_band"),
    favorable_label="Pass",
    reference={"gender": "M", "disability": "N"},
)

OULAD_COURSE: Final = CatalogueEntry(
    name="oulad_course",
    title="OULAD: first enrolment of every student who finished, in integer codes",
    source=_OULAD_SOURCE,
    citation=_OULAD_CITATION,
    licence=_CC_BY,
    columns={
        "gender": whole("1 male, 0 female"),
        "highest_education": whole("0 no formal, 1 below A level, 2 A level, 3 higher, 4 postgraduate"),
        "poverty": whole("1: home area in the more deprived half (imd_band 0-50%)"),
        "age": whole("0: 0-35, 1: 35-55, 2: 55 and more"),
        "disability": whole("1: declared disability"),
        "num_of_prev_attempts": whole("Earlier attempts at this course"),
        "studied_credits": whole("Credits of all courses studied at the time"),
        "sum_click": whole("Total clicks in the virtual learning environment"),
        "passed": whole("1: Pass or Distinction, 0: Fail"),
    },
    faults=(
        "Students who withdrew are left out, so `passed` is conditional on staying to the end.",
        "A student of several courses is counted only in the first one in file order (AAA, BBB, …).",
        "The published models scale every column to [0, 1] over all 19,964 rows of all courses; these are "
        "the unscaled values.",
    ),
    y_true="passed",
    sensitive_features=("gender", "poverty", "age", "disability"),
    favorable_label=1,
    reference={"gender": 1, "poverty": 0, "disability": 0},
)
