# What type checkers see of the names that are loaded on first use.
from fairstats import datasets as datasets
from fairstats import results as results
from fairstats._version import __version__ as __version__
from fairstats.ground.backends import doctor as doctor
from fairstats.ground.backends import use_backend as use_backend
from fairstats.ground.columns import tally_sql as tally_sql
from fairstats.ground.counts import ConfusionCounts as ConfusionCounts
from fairstats.ground.errors import FairstatsError as FairstatsError
from fairstats.ground.errors import FairstatsWarning as FairstatsWarning
from fairstats.ground.errors import InputError as InputError
from fairstats.ground.reading.table import read_table as read_table
from fairstats.ground.tally import Tally as Tally
from fairstats.ground.tally import tally as tally
from fairstats.methods.ecd.discrimination import (
    counterfactual_discrimination as counterfactual_discrimination,
)
from fairstats.methods.ecd.ecd import ecd as ecd
from fairstats.methods.ecd.quality import synthetic_quality as synthetic_quality
from fairstats.methods.ecd.sampling import sample_tail as sample_tail
from fairstats.methods.ecd.scott_knott import scott_knott as scott_knott
from fairstats.methods.ecd.search import EcdSearch as EcdSearch
from fairstats.methods.hfm.approx import approx_set_distance as approx_set_distance
from fairstats.methods.hfm.experiment import hfm_experiment as hfm_experiment
from fairstats.methods.hfm.metric import hfm as hfm
from fairstats.methods.hfm.risk import discriminative_risk as discriminative_risk
from fairstats.methods.hfm.selection import rank_rules as rank_rules
from fairstats.methods.hfm.selection import select_model as select_model
from fairstats.methods.hfm.set_distance import set_distance as set_distance
from fairstats.methods.madd.curve import madd_curve as madd_curve
from fairstats.methods.madd.curve import stable_bandwidth as stable_bandwidth
from fairstats.methods.madd.metric import madd as madd
from fairstats.methods.madd.mitigator import MaddMitigator as MaddMitigator
from fairstats.methods.rates.abroca import abroca as abroca
from fairstats.methods.rates.differences import average_odds_difference as average_odds_difference
from fairstats.methods.rates.differences import (
    demographic_parity_difference as demographic_parity_difference,
)
from fairstats.methods.rates.differences import (
    equal_opportunity_difference as equal_opportunity_difference,
)
from fairstats.methods.rates.differences import (
    equalized_odds_difference as equalized_odds_difference,
)
from fairstats.methods.rates.differences import (
    predictive_parity_difference as predictive_parity_difference,
)
from fairstats.methods.rates.employment.adverse_impact import adverse_impact as adverse_impact
from fairstats.methods.rates.metrics import group_metric as group_metric
from fairstats.methods.rates.models.compare import compare_models as compare_models
from fairstats.methods.rates.numbers.decomposition import decompose as decompose
from fairstats.methods.rates.numbers.means import means as means
from fairstats.methods.rates.numbers.means import prediction_errors as prediction_errors
from fairstats.methods.rates.numbers.scores import calibration as calibration
from fairstats.methods.rates.numbers.scores import scores as scores
from fairstats.methods.rates.planning import power_ratio as power_ratio
from fairstats.methods.rates.planning import sample_size_ratio as sample_size_ratio
from fairstats.methods.rates.ratios import conditional_accuracy as conditional_accuracy
from fairstats.methods.rates.ratios import conditional_use_accuracy as conditional_use_accuracy
from fairstats.methods.rates.ratios import disparate_impact as disparate_impact
from fairstats.methods.rates.scorer import make_scorer as make_scorer
from fairstats.methods.rates.subgroups import subgroups as subgroups
from fairstats.methods.um.comparison import um_compare as um_compare
from fairstats.methods.um.cross_validation import um_cross_validate as um_cross_validate
from fairstats.methods.um.estimators import um_compare_estimators as um_compare_estimators
from fairstats.methods.um.posterior import um_hierarchical as um_hierarchical
from fairstats.methods.um.posterior import um_multiclass as um_multiclass
from fairstats.methods.um.posterior import um_posterior as um_posterior
from fairstats.methods.um.pymc_models import um_model as um_model
from fairstats.numerics import evt as evt
from fairstats.numerics import rates as rates
from fairstats.numerics.hdr.region import hdr as hdr
from fairstats.report.audit import audit as audit
from fairstats.report.choose import choose_metric as choose_metric
from fairstats.report.crosscheck.run import crosscheck as crosscheck
from fairstats.report.replication.run import replication as replication
