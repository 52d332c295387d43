# What type checkers see of the names that are loaded on first use.
from fairstats.ground.counts import PairedCounts as PairedCounts
from fairstats.ground.counts import SelectionCounts as SelectionCounts
from fairstats.ground.counts import SizeCounts as SizeCounts
from fairstats.ground.results import Comparison as Comparison
from fairstats.ground.results import HypothesisTest as HypothesisTest
from fairstats.ground.results import Interval as Interval
from fairstats.ground.results import Result as Result
from fairstats.ground.scores import ScoreCounts as ScoreCounts
from fairstats.ground.tallies.classes import ClassCounts as ClassCounts
from fairstats.ground.tallies.moments import MomentCounts as MomentCounts
from fairstats.methods.ecd.quality import SyntheticQuality as SyntheticQuality
from fairstats.methods.ecd.result import EcdResult as EcdResult
from fairstats.methods.ecd.sample import CounterfactualSample as CounterfactualSample
from fairstats.methods.ecd.sampling import TailSample as TailSample
from fairstats.methods.ecd.scott_knott import ScottKnott as ScottKnott
from fairstats.methods.hfm.experiment import HfmExperiment as HfmExperiment
from fairstats.methods.hfm.result import HfmResult as HfmResult
from fairstats.methods.hfm.risk import DiscriminativeRiskResult as DiscriminativeRiskResult
from fairstats.methods.hfm.selection import RankingResult as RankingResult
from fairstats.methods.hfm.set_distance import SetDistance as SetDistance
from fairstats.methods.madd.curve import MaddCurve as MaddCurve
from fairstats.methods.madd.curve import StableBandwidth as StableBandwidth
from fairstats.methods.madd.mitigation import MitigationResult as MitigationResult
from fairstats.methods.madd.result import MaddResult as MaddResult
from fairstats.methods.rates.abroca import AbrocaResult as AbrocaResult
from fairstats.methods.rates.classes.result import ClassDifferenceResult as ClassDifferenceResult
from fairstats.methods.rates.classes.result import ClassMaximumResult as ClassMaximumResult
from fairstats.methods.rates.classes.result import ClassOddsRatioResult as ClassOddsRatioResult
from fairstats.methods.rates.classes.result import ClassRatioResult as ClassRatioResult
from fairstats.methods.rates.classes.strata import (
    ClassStratifiedDifferenceResult as ClassStratifiedDifferenceResult,
)
from fairstats.methods.rates.classes.strata import (
    ClassStratifiedOddsRatioResult as ClassStratifiedOddsRatioResult,
)
from fairstats.methods.rates.classes.strata import (
    ClassStratifiedRatioResult as ClassStratifiedRatioResult,
)
from fairstats.methods.rates.disparity import DisparityResult as DisparityResult
from fairstats.methods.rates.employment.result import AdverseImpact as AdverseImpact
from fairstats.methods.rates.extremes import ExtremeDifferenceResult as ExtremeDifferenceResult
from fairstats.methods.rates.extremes import ExtremeRatioResult as ExtremeRatioResult
from fairstats.methods.rates.inferred.reading import InferredCounts as InferredCounts
from fairstats.methods.rates.inferred.result import InferredComparison as InferredComparison
from fairstats.methods.rates.inferred.result import InferredResult as InferredResult
from fairstats.methods.rates.maxima import MaximumResult as MaximumResult
from fairstats.methods.rates.models.result import AmplificationResult as AmplificationResult
from fairstats.methods.rates.models.result import ModelComparison as ModelComparison
from fairstats.methods.rates.monitoring import MonitorResult as MonitorResult
from fairstats.methods.rates.monitoring import MonitorSettings as MonitorSettings
from fairstats.methods.rates.numbers.curves import CurveDifferenceResult as CurveDifferenceResult
from fairstats.methods.rates.numbers.curves import CurveRatioResult as CurveRatioResult
from fairstats.methods.rates.numbers.decomposition import (
    DecompositionResult as DecompositionResult,
)
from fairstats.methods.rates.numbers.result import NumberDifferenceResult as NumberDifferenceResult
from fairstats.methods.rates.numbers.result import NumberRatioResult as NumberRatioResult
from fairstats.methods.rates.numbers.stratified import (
    StratifiedNumberDifferenceResult as StratifiedNumberDifferenceResult,
)
from fairstats.methods.rates.numbers.stratified import (
    StratifiedNumberRatioResult as StratifiedNumberRatioResult,
)
from fairstats.methods.rates.numbers.stratified_curves import (
    StratifiedCurveDifferenceResult as StratifiedCurveDifferenceResult,
)
from fairstats.methods.rates.numbers.stratified_curves import (
    StratifiedCurveRatioResult as StratifiedCurveRatioResult,
)
from fairstats.methods.rates.planning import PowerResult as PowerResult
from fairstats.methods.rates.result import ComparisonResult as ComparisonResult
from fairstats.methods.rates.result import DifferenceResult as DifferenceResult
from fairstats.methods.rates.result import OddsRatioResult as OddsRatioResult
from fairstats.methods.rates.result import RatioResult as RatioResult
from fairstats.methods.rates.strata.result import (
    StratifiedDifferenceResult as StratifiedDifferenceResult,
)
from fairstats.methods.rates.strata.result import (
    StratifiedOddsRatioResult as StratifiedOddsRatioResult,
)
from fairstats.methods.rates.strata.result import StratifiedRatioResult as StratifiedRatioResult
from fairstats.methods.rates.subgroups import SubgroupResult as SubgroupResult
from fairstats.methods.rates.worst_case import WorstCaseResult as WorstCaseResult
from fairstats.methods.um.comparison import UmComparison as UmComparison
from fairstats.methods.um.estimators import UmEstimators as UmEstimators
from fairstats.methods.um.events import UmRanking as UmRanking
from fairstats.methods.um.result import UmPosterior as UmPosterior
from fairstats.numerics.evt.averaging import AveragedReturnLevel as AveragedReturnLevel
from fairstats.numerics.evt.choice import ThresholdChoice as ThresholdChoice
from fairstats.numerics.evt.covariates import ConditionalLevel as ConditionalLevel
from fairstats.numerics.evt.covariates import CovariateFit as CovariateFit
from fairstats.numerics.evt.diagnostics import ExponentialityTest as ExponentialityTest
from fairstats.numerics.evt.diagnostics import GoodnessOfFit as GoodnessOfFit
from fairstats.numerics.evt.diagnostics import MeanResidualLife as MeanResidualLife
from fairstats.numerics.evt.extrapolation import TailType as TailType
from fairstats.numerics.evt.fit import EvtFit as EvtFit
from fairstats.numerics.evt.profile import Endpoint as Endpoint
from fairstats.numerics.evt.profile import ExceedanceProbability as ExceedanceProbability
from fairstats.numerics.evt.profile import ProfileCurve as ProfileCurve
from fairstats.numerics.evt.profile import ShapeTest as ShapeTest
from fairstats.numerics.evt.return_levels import ReturnLevel as ReturnLevel
from fairstats.numerics.evt.return_levels import ReturnLevels as ReturnLevels
from fairstats.numerics.evt.series import ExtremalIndex as ExtremalIndex
from fairstats.numerics.evt.tail import FittedTail as FittedTail
from fairstats.numerics.evt.tail import TailEstimate as TailEstimate
from fairstats.numerics.evt.tail import TailTest as TailTest
from fairstats.numerics.evt.thresholds import ThresholdStability as ThresholdStability
from fairstats.numerics.evt.thresholds import ThresholdTests as ThresholdTests
from fairstats.numerics.hdr.result import HdrRegion as HdrRegion
from fairstats.numerics.hdr.result import HdrResult as HdrResult
from fairstats.report.crosscheck.table import Crosscheck as Crosscheck
from fairstats.report.report import AuditReport as AuditReport
