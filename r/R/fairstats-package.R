#' fairstats: the R side of inference-grade algorithmic fairness
#'
#' From data frames: [fs_audit()], [fs_disparate_impact()], [fs_madd()], [fs_hfm()], [fs_um_posterior()], [fs_ecd()];
#' reports of the Python package: [fs_read_report()], [fs_compare()]. Below them base-R twins of its statistics
#' ([disparate_impact()], [largest_gap()], [madd()], [hfm()], [um_metric()], ...), and careful calls of extRemes and evd
#' ([gpd_fit()], [gev_fit()], [point_process_fit()]) and hdrcde ([hdr_levels_1d()]).
#'
#' @keywords internal
"_PACKAGE"
