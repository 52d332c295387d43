#' fairstats: the R side of inference-grade algorithmic fairness
#'
#' Base-R twins of the rates of the Python package fairstats ([disparate_impact()],
#' [conditional_accuracy()], [demographic_parity_difference()], [largest_gap()], ...), and careful calls of
#' extRemes and evd ([gpd_fit()], [gev_fit()], [point_process_fit()]) and hdrcde ([hdr_levels_1d()]).
#'
#' @keywords internal
"_PACKAGE"
