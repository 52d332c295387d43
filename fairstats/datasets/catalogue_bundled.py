"""The four data sets that travel with the package: sources, licences, columns, known faults."""

from __future__ import annotations

from typing import Final

from fairstats.datasets.description import CatalogueEntry, real, text, whole

__all__ = ["ADULT", "COMPAS", "GERMAN_CREDIT", "RICCI"]

_CC_BY = "Creative Commons Attribution 4.0 International (CC BY 4.0)"

COMPAS: Final = CatalogueEntry(
    name="compas_two_years",
    title="COMPAS scores and two-year recidivism, Broward County, Florida, 2013-2014",
    source="ProPublica, github.com/propublica/compas-analysis, compas-scores-two-years.csv",
    citation=(
        "Angwin, J., Larson, J., Mattu, S. and Kirchner, L. (2016). Machine Bias. ProPublica, 23 May 2016."
    ),
    licence="None stated: published by ProPublica without a licence file",
    columns={
        "sex": text("Sex as recorded: Male, Female"),
        "age": whole("Age in years in April 2016, when the data were collected, not at screening"),
        "age_cat": text("Age class of `age`: Less than 25, 25 - 45, Greater than 45"),
        "race": text("Race as recorded by the sheriff's office"),
        "juv_fel_count": whole("Number of juvenile felonies"),
        "juv_misd_count": whole("Number of juvenile misdemeanours"),
        "juv_other_count": whole("Number of other juvenile offences"),
        "priors_count": whole("Number of prior offences"),
        "days_b_screening_arrest": real(
            "Days between the COMPAS screening and the arrest; missing: no match"
        ),
        "c_charge_degree": text("Degree of the charge: F felony, M misdemeanour"),
        "decile_score": whole("COMPAS risk of recidivism, 1 (low) to 10 (high)"),
        "score_text": text("Class of `decile_score`: Low 1-4, Medium 5-7, High 8-10"),
        "v_decile_score": whole("COMPAS risk of violence, 1 (low) to 10 (high)"),
        "v_score_text": text("Class of `v_decile_score`: Low 1-4, Medium 5-7, High 8-10"),
        "is_recid": whole("1: charged with a new offence at any time in the records; -1: no case found"),
        "is_violent_recid": whole("1: charged with a new violent offence at any time in the records"),
        "two_year_recid": whole("1: charged with a new offence within two years, 0: not"),
    },
    faults=(
        "Names, dates of birth, case numbers and every date of the original were removed here, because they "
        "identify people. Keep them out of derived files too.",
        "ProPublica applied the two-year cut-off to people who did not reoffend but not to those who did: "
        "the recidivism rate is inflated, 45.1% instead of 36.2% (Barenstein 2019, arXiv:1906.04711). "
        "Predictive values suffer, error rates hardly.",
        "`age` and `age_cat` are ages in April 2016, one to four years after the screening.",
        "Recidivism means a new charge, not a conviction: it depends on who is policed.",
        "307 rows have no arrest that matches the screening, others one far away in time; "
        "subset='propublica' leaves them out as ProPublica did.",
    ),
    y_true="two_year_recid",
    y_pred="score_text",
    score="decile_score",
    sensitive_features=("race", "sex", "age_cat"),
    favorable_label=0,
    favorable_prediction="Low",
    reference={"race": "Caucasian", "sex": "Male"},
)

GERMAN_CREDIT: Final = CatalogueEntry(
    name="german_credit",
    title="Statlog German credit: 1,000 loans of a bank in southern Germany, 1973-1975",
    source="UCI Machine Learning Repository, Statlog (German Credit Data), german.data; DOI 10.24432/C5NC77",
    citation="Hofmann, H. (1994). Statlog (German Credit Data). UCI Machine Learning Repository.",
    licence=_CC_BY,
    columns={
        "status": text("Checking account: A11 none, A12 < 0 DM, A13 0-200 DM, A14 >= 200 DM or salary †"),
        "month": whole("Duration of the loan in months"),
        "credit_history": text(
            "A30 delay in the past, A31 critical account, A32 no credits taken or all paid back, A33 "
            "existing credits paid till now, A34 all credits at this bank paid back †"
        ),
        "purpose": text(
            "A40 others, A41 car (new), A42 car (used), A43 furniture, A44 radio/television, A45 domestic "
            "appliances, A46 repairs, A48 vacation, A49 retraining, A410 business †"
        ),
        "credit_amount": whole("Amount of the loan in DM"),
        "savings": text("A61 unknown or none, A62 < 100 DM, A63 100-500, A64 500-1000, A65 >= 1000 †"),
        "employment": text("Years with employer: A71 unemployed, A72 < 1, A73 1-4, A74 4-7, A75 >= 7"),
        "investment_as_income_percentage": whole(
            "Instalment rate in % of disposable income: class 1 (35 and more) to 4 (below 20)"
        ),
        "personal_status": text(
            "A91 male, divorced or separated; A92 female, not single, or male, single; A93 male, married or "
            "widowed; A94 female, single †"
        ),
        "other_debtors": text("Other debtors: A101 none, A102 co-applicant, A103 guarantor"),
        "residence_since": whole("Time at present residence: class 1 (< 1 year) to 4 (7 years and more)"),
        "property": text(
            "A121 unknown or none, A122 car or other, A123 building society savings or life insurance, A124 "
            "real estate †"
        ),
        "age": whole("Age in years"),
        "installment_plans": text("Other instalment plans: A141 bank, A142 stores, A143 none"),
        "housing": text("Housing: A151 for free, A152 rent, A153 own †"),
        "number_of_credits": whole("Number of credits at this bank: class 1 (one) to 4 (six and more)"),
        "skill_level": text(
            "Job: A171 unskilled non-resident, A172 unskilled, A173 skilled, A174 management"
        ),
        "people_liable_for": whole("People dependent on the debtor: 1 up to two, 2 three and more †"),
        "telephone": text("Telephone in the customer's name: A191 none, A192 yes"),
        "foreign_worker": text("A201 NOT a foreign worker (963), A202 foreign worker (37): codes swapped †"),
        "credit": text("good: the loan was repaid as agreed; bad: it was not"),
        "sex": text(
            "Derived from the published, wrong meanings of `personal_status` (A92 female, others male)"
        ),
    },
    faults=(
        "`foreign_worker` is swapped: A201, documented as 'yes', is held by 963 of 1,000 customers and means "
        "'no'; A202 (37) means 'yes' (Grömping 2019, South German Credit Data). Published comparisons of "
        "'foreign' with 'native' customers on this file are the wrong way round.",
        "The columns marked † are mislabelled in the file's own documentation (german.doc). Their meanings "
        "here are the corrected ones of Grömping (2019); most papers use the published ones.",
        "`sex` follows the published meanings, as nearly all papers do. By the corrected ones it is wrong "
        "for all of A94 (92 women, called male) and for the single men in A92 (310 rows, called female): "
        "the sexes cannot be told apart in this file.",
        "Bad loans are oversampled: 300 of 1,000, far more than in the bank's business.",
    ),
    y_true="credit",
    sensitive_features=("age", "foreign_worker", "sex"),
    favorable_label="good",
    reference={"sex": "male", "foreign_worker": "A201"},
)

ADULT: Final = CatalogueEntry(
    name="adult",
    title="Adult census income: who earned more than 50,000 US dollars in 1994",
    source="UCI Machine Learning Repository, Adult; DOI 10.24432/C5XW20",
    citation="Becker, B. and Kohavi, R. (1996). Adult. UCI Machine Learning Repository.",
    licence=_CC_BY,
    columns={
        "age": whole("Age in years; 90 stands for 90 and more"),
        "workclass": text("Kind of employer"),
        "fnlwgt": whole("Survey weight: the number of people a row stands for, by the Census Bureau"),
        "education": text("Highest level of education"),
        "education_num": whole("The same, as a rank from 1 (preschool) to 16 (doctorate)"),
        "marital_status": text("Marital status"),
        "occupation": text("Occupation"),
        "relationship": text("Place in the household: Husband, Wife, Own-child, Not-in-family, …"),
        "race": text("Race: White, Black, Asian-Pac-Islander, Amer-Indian-Eskimo, Other"),
        "sex": text("Sex: Female, Male"),
        "capital_gain": whole("Capital gains in US dollars; 99999 is a top code"),
        "capital_loss": whole("Capital losses in US dollars"),
        "hours_per_week": whole("Working hours a week; 99 stands for 99 and more"),
        "native_country": text("Country of origin"),
        "income": text("<=50K or >50K US dollars a year"),
        "split": text("train (adult.data) or test (adult.test), as published"),
    },
    faults=(
        "Besse et al. (2018) call `race` (not White against White) 'origin' and 'foreign / native'; "
        "`native_country` gives a different ratio, 0.754 instead of 0.598.",
        "The two filters of subset='besse' on age and Armed-Forces are side effects of those authors' code.",
        "The cut at 50,000 dollars is arbitrary and shapes the disparities (Ding et al. 2021, Retiring "
        "Adult).",
        "Missing values sit in `workclass`, `occupation` and `native_country`, mostly in the same rows, and "
        "not at random.",
        "Rows are a weighted survey sample (`fnlwgt`); unweighted rates describe the file, not the country.",
        "A few identical rows (24 in the training part) and misspelt countries (Columbia, Hong, South, "
        "Holand-Netherlands, Trinadad&Tobago) are in the original.",
    ),
    y_true="income",
    sensitive_features=("sex", "race", "age"),
    favorable_label=">50K",
    reference={"sex": "Male", "race": "White"},
)

RICCI: Final = CatalogueEntry(
    name="ricci",
    title="Ricci v. DeStefano: promotion exams of the New Haven Fire Department, 2003",
    source="Court record, in the Journal of Statistics Education data archive (W. Miao)",
    citation=(
        "Miao, W. (2010). Did the Results of Promotion Exams Have a Disparate Impact on Minorities? Using "
        "Statistical Evidence in Ricci v. DeStefano. Journal of Statistics Education 18(3)."
    ),
    licence="Court documents, public record",
    columns={
        "Position": text("Rank applied for: Captain (41), Lieutenant (77)"),
        "Oral": real("Score in the oral exam"),
        "Written": whole("Score in the written exam"),
        "Race": text("W white, H Hispanic, B Black"),
        "Combine": real("Combined score: 60% written, 40% oral"),
        "Promoted": whole("1: passed (Combine of 70 and more), 0: failed; derived"),
    },
    faults=(
        "`Promoted` means 'passed the exam': the city threw the results out and promoted nobody, and only "
        "the highest scores among those who passed could have been promoted.",
        "118 rows: 27 Black and 23 Hispanic candidates; large-sample intervals are rough.",
    ),
    y_true="Promoted",
    score="Combine",
    sensitive_features=("Race",),
    favorable_label=1,
    reference={"Race": "W"},
)
