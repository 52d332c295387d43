#' fairstats: the R side of inference-grade algorithmic fairness
#'
#' From a formula, data frames or vectors: [fs_audit()], [fs_disparate_impact()] and any other
#' metric by [fs_group_metric()], [fs_madd()], [fs_hfm()], [fs_um_posterior()], [fs_ecd()]; reports
#' of the Python package: [fs_read_report()], [fs_compare()]. All of them are base R, written
#' independently of Python, and read one table of metrics with it (`inst/metrics.json`). With them
#' careful calls of extRemes and evd ([fs_fit_gpd()], [fs_fit_gev()], [fs_fit_point_process()]) and
#' of hdrcde ([fs_hdr_levels_1d()]).
#'
#' What the functions return has the usual methods, see [fairstats-methods]; how a formula names
#' the columns is told in [fairstats-formula].
#'
#' @keywords internal
"_PACKAGE"
