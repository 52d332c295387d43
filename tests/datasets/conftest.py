"""Small made-up files in the original layouts, and the shared copies of the real data where there
are any.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"

ADULT_DATA = """\
39, State-gov, 77000, Bachelors, 13, Never-married, Sales, Unmarried, White, Male, 2174, 0, 40, Cuba, <=50K
50, ?, 83000, HS-grad, 9, Divorced, ?, Husband, Black, Female, 0, 0, 13, ?, >50K

"""
ADULT_TEST = """\
|1x3 Cross validator
25, Private, 226000, 11th, 7, Never-married, Sales, Own-child, Black, Male, 0, 0, 40, United-States, <=50K.
28, Local-gov, 336000, Masters, 14, Widowed, Tech-support, Wife, White, Female, 0, 1902, 40, Peru, >50K.

"""
BANK_HEADER = (
    '"age";"job";"marital";"education";"default";"balance";"housing";"loan";"contact";"day";"month";"duration";'
    '"campaign";"pdays";"previous";"poutcome";"y"\n'
)
BANK = f"""{BANK_HEADER}\
58;"management";"married";"tertiary";"no";-2143;"yes";"no";"unknown";5;"may";261;1;-1;0;"unknown";"no"
44;"admin.";"single";"secondary";"yes";29;"yes";"no";"cellular";5;"may";151;1;92;3;"failure";"yes"
"""
CREDIT_NAMES = (
    "ID,LIMIT_BAL,SEX,EDUCATION,MARRIAGE,AGE,PAY_0,PAY_2,PAY_3,PAY_4,PAY_5,PAY_6,BILL_AMT1,BILL_AMT2,BILL_AMT3,BILL_AMT4,BILL_AMT5,BILL_AMT6,PAY_AMT1,PAY_AMT2,PAY_AMT3,PAY_AMT4,PAY_AMT5,PAY_AMT6,default"
    " payment next month"
)
CREDIT_ROWS = """\
1,20000,2,2,1,24,2,2,-1,-1,-2,-2,3913,3102,689,0,0,0,0,689,0,0,0,0,1
2,120000,1,2,2,26,-1,2,0,0,0,2,2682,1725,-268,3272,3455,3261,0,1000,1000,1000,0,2000,0
"""
CREDIT = f",{','.join(f'X{i}' for i in range(1, 24))},Y\n{CREDIT_NAMES}\n{CREDIT_ROWS}"
HEART = """\
63.0,1.0,1.0,145.0,233.0,1.0,2.0,150.0,0.0,2.3,3.0,0.0,6.0,0
67.0,0.0,4.0,160.0,286.0,0.0,2.0,108.0,1.0,1.5,2.0,?,?,2
"""
STUDENT_HEADER = (
    "school;sex;age;address;famsize;Pstatus;Medu;Fedu;Mjob;Fjob;reason;guardian;traveltime;studytime;failures;"
    "schoolsup;famsup;paid;activities;nursery;higher;internet;romantic;famrel;freetime;goout;Dalc;Walc;health;"
    "absences;G1;G2;G3\n"
)
STUDENT_MAT = f"""{STUDENT_HEADER}\
"GP";"F";18;"U";"GT3";"A";4;4;"at_home";"teacher";"course";"mother";2;2;0;"yes";"no";"no";"no";"yes";"yes";"no";"no";\
4;3;4;1;1;3;6;"5";"6";6
"""
STUDENT_POR = STUDENT_MAT.replace('"GP";"F";18', '"MS";"M";19') + STUDENT_MAT.removeprefix(
    STUDENT_HEADER
)
OULAD_INFO = """\
"code_module","code_presentation","id_student","gender","region","highest_education","imd_band","age_band",\
"num_of_prev_attempts","studied_credits","disability","final_result"
"AAA","2013J","1","M","Scotland","HE Qualification","90-100%","55<=","0","240","N","Pass"
"AAA","2013J","2","F","Wales","No Formal quals","?","0-35","0","60","Y","Fail"
"BBB","2014B","1","M","Scotland","HE Qualification","90-100%","55<=","1","60","N","Fail"
"BBB","2014B","3","F","Ireland","A Level or Equivalent","10-20","35-55","2","90","Y","Distinction"
"BBB","2014B","4","M","Ireland","Lower Than A Level","40-50%","0-35","0","30","N","Withdrawn"
"BBB","2014B","5","M","Ireland","Post Graduate Qualification","50-60%","0-35","0","30","N","Fail"
"BBB","2014B","6","M","Ireland","Lower Than A Level","","0-35","0","30","N","Pass"
"BBB","2014B","7","F","Ireland","Lower Than A Level","0-10%","0-35","0","30","N","Pass"
"""
OULAD_VLE = """\
"code_module","code_presentation","id_student","id_site","date","sum_click"
"AAA","2013J","1","546652","-10","4"
"BBB","2014B","1","546652","-10","1"
"AAA","2013J","2","546652","-9","7"
"BBB","2014B","3","546653","0","5"
"AAA","2013J","1","546614","12","6"
"BBB","2014B","4","546614","12","2"
"BBB","2014B","5","546614","12","9"
"BBB","2014B","3","546614","12","8"
"BBB","2014B","6","546614","12","3"
"""
COMPAS_HEADER = (
    "id,name,first,last,compas_screening_date,dob,c_case_number,r_case_number,sex,age,age_cat,race,juv_fel_count,"
    "decile_score,juv_misd_count,juv_other_count,priors_count,days_b_screening_arrest,c_charge_degree,is_recid,"
    "is_violent_recid,decile_score,score_text,v_decile_score,v_score_text,priors_count,two_year_recid"
)
PERSON = "example,an,example,1900-01-01,1800-01-01,X1,X2"
COMPAS_ROWS = (
    f"1,{PERSON},Female,69,Greater than 45,Caucasian,0,1,0,0,0,-1,F,0,0,1,Low,2,Low,0,0",
    f"2,{PERSON},Male,34,25 - 45,African-American,0,9,2,1,4,31,M,1,0,9,High,7,Medium,4,1",
    (
        f'3,"example, "{PERSON},Male,24,Less than'
        " 25,African-American,0,-1,0,1,4,,F,1,1,-1,N/A,1,Low,4,1"
    ),
    f"4,{PERSON},Female,24,Less than 25,Other,0,6,0,1,4,0,F,1,1,6,Medium,1,Low,4,1",
    f"5,{PERSON},Female,24,Less than 25,African-American,0,6,0,1,4,0,F,1,1,6,Medium,1,Low,4,1",
)
COMPAS = "\n".join((COMPAS_HEADER, *COMPAS_ROWS)) + "\n"
COMPAS_VIOLENT = (
    "\n".join((COMPAS_HEADER + ",two_year_recid", *(f"{row},{row[-1]}" for row in COMPAS_ROWS)))
    + "\n"
)

FILES = {
    "adult.data": ADULT_DATA,
    "adult.test": ADULT_TEST,
    "bank-full.csv": BANK,
    "credit.csv": CREDIT,
    "processed.cleveland.data": HEART,
    "student-mat.csv": STUDENT_MAT,
    "student-por.csv": STUDENT_POR,
    "studentInfo.csv": OULAD_INFO,
    "studentVle.csv": OULAD_VLE,
    "compas.csv": COMPAS,
    "compas-violent.csv": COMPAS_VIOLENT,
}


@pytest.fixture
def originals(tmp_path: Path) -> Path:
    """A folder with a small, valid file in each original layout."""
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    return tmp_path


@pytest.fixture
def shared() -> Callable[[str], pd.DataFrame]:
    """Read a shared copy of the real data by its name; skip where it is not there."""

    def read(name: str) -> pd.DataFrame:
        file = SHARED / f"{name}.csv.gz"
        if not file.exists():
            pytest.skip(f"no shared copy of the real data: ../shared/data/{file.name} is not there")
        return pd.read_csv(file, keep_default_na=False, na_values=[""])

    return read
