# Arguments of the wrong kind, length or value: an error of ours that names the argument, never R's
# own message.

rows <- data.frame(
  y = rep(0:1, 30),
  hat = rep(c(1, 0, 0, 1, 1), 12),
  sex = rep(c("f", "m"), each = 30),
  score = 1:60 / 61
)
never <- list(
  none = numeric(),
  missing = NA_character_,
  number = NA_real_,
  text = "nope",
  complex = 1i,
  list = list(1, 2),
  matrix = matrix(1:4, 2),
  code = mean,
  formula = y ~ x,
  frame = rows,
  huge = Inf
)
refused <- function(call, arguments, odd = never) {
  for (argument in arguments) {
    for (kind in names(odd)) {
      said <- tryCatch(
        {
          do.call(call, stats::setNames(odd[kind], argument))
          "a value"
        },
        error = conditionMessage
      )
      expect_match(
        said,
        paste0("`", argument, "`: got .*; allowed: "),
        info = paste(argument, kind)
      )
    }
  }
}

test_that("options and choices of a comparison", {
  refused(
    function(...) fs_disparate_impact(rows, "hat", "sex", ...),
    c(
      "reference",
      "pos_label",
      "confidence_level",
      "threshold",
      "comparisons",
      "adjust",
      "simultaneous",
      "method",
      "seed"
    )
  )
  # differences have a margin in place of a threshold
  refused(function(...) fs_demographic_parity_difference(rows, "hat", "sex", ...), "margin")
  refused(
    function(...) {
      fs_group_metric(rows, ..., y_true = "y", y_pred = "hat", sensitive_features = "sex")
    },
    "metric"
  )
  refused(function(...) fs_conditional_accuracy(rows, "y", "hat", "sex", ...), "label")
  refused(
    function(...) fs_audit(rows, "y", "hat", sensitive_features = "sex", draws = 0, ...),
    c("missing", "intersections")
  )
  expect_error(
    fs_disparate_impact(rows, "hat", "sex", reference = c(race = "f")),
    "`reference`: got the name race"
  )
})

test_that("a metric is never computed without a column that it needs", {
  expect_error(fs_disparate_impact(rows, NULL, "sex"), "`y_pred`: got NULL")
  expect_error(fs_group_metric(rows, "f1_difference", "y", NULL, "sex"), "`y_pred`: got NULL")
  expect_error(fs_group_metric(rows, "tpr_ratio", NULL, "hat", "sex"), "`y_true`: got NULL")
  expect_error(fs_group_metric(rows, "madd", "y", "hat", "sex"), "`metric`: got madd")
  expect_equal(fs_group_metric(rows, "base_rate_difference", "y", NULL, "sex")$estimate, 0)
})

test_that("numbers and choices of what takes vectors and matrices", {
  x <- 1:60 / 61
  plane <- cbind(x, x^2)
  counts <- rbind(c(42, 12, 8, 38), c(15, 7, 5, 23))
  draws <- fs_um_draws(counts, 20)
  refused(function(...) fs_power_ratio(0.5, 0.7, ...), "n")
  refused(
    function(...) fs_power_ratio(0.5, 0.7, 20, ...),
    c("n_reference", "threshold", "alternative", "level")
  )
  refused(function(...) fs_sample_size_ratio(0.5, ...), "ratio")
  refused(function(...) fs_sample_size_ratio(0.5, 0.6, ...), c("power", "allocation"))
  refused(function(...) fs_um_draws(counts, ...), c("draws", "prior", "target"))
  refused(fs_um_draws, "counts")
  refused(
    function(...) fs_um_metric(draws, ...),
    "metric",
    never[c("none", "number", "code", "list", "missing", "text")]
  )
  refused(function(...) fs_um_metric(draws, "tpr", ...), "contrast")
  refused(function(...) fs_um_metric(draws, "tpr", "ratio", ...), "reference")
  refused(function(...) fs_um_metric(metric = "tpr", ...), "counts")
  refused(function(...) fs_um_events(cbind(c(0.02, 0)), ...), "rope")
  refused(function(...) fs_um_effective_factor("relative", ...), "folds")
  refused(function(...) fs_um_variance_ratio(list(plane, plane), ...), "reference")
  refused(function(...) fs_density_1d(x, ..., low = 0, high = 1, size = 50), "bandwidth")
  refused(function(...) fs_density_1d(x, 0.1, 0, 1, ...), "size")
  refused(function(...) fs_fit_gpd(x, source = "base", ...), c("method", "grid"))
  refused(function(...) fs_choose_threshold(x, ...), "method")
  refused(function(...) fs_choose_threshold(x, "k_largest", ...), "k")
  refused(
    function(...) fs_fit_gev(source = "base", ...),
    "x",
    never[c("none", "text", "code", "complex", "list", "huge")]
  )
  refused(function(...) fs_stable_bandwidth(1 / 1:200, rep(1, 200), 50, ...), "n1")
  refused(function(...) fs_madd_map(x, rep(1:2, 30), ...), "lambda")
  refused(function(...) fs_madd_map(x, lambda = 1, ...), "group")
  refused(function(...) fs_approx_set_distance(plane, plane, c(0.4, 0.6), ...), "m2")
  refused(
    function(...) fs_hfm(rows, "score", "y", "hat", "sex", ...),
    c("n_resamples", "n_subsamples", "scale")
  )
  refused(function(...) fs_ecd(x, x, ...), c("interactions", "threshold", "worst"))
  compare <- function(...) fs_compare_models(rows, "y", c("hat", "y"), "sex", ...)
  refused(compare, "baseline")
  refused(compare, "metrics", never[names(never) != "text"])
})

test_that("an argument that is left out is named by every public function", {
  said <- function(call) {
    tryCatch(
      {
        call
        "a value"
      },
      error = conditionMessage
    )
  }
  public <- getNamespaceExports("fairstats")
  for (name in public) {
    f <- getExportedValue("fairstats", name)
    needed <- setdiff(names(formals(f))[!nzchar(as.character(formals(f)))], "...")
    if (length(needed)) {
      expect_match(
        said(do.call(f, list())),
        paste0("`", needed[1L], "`: got nothing; allowed: "),
        fixed = TRUE,
        info = name
      )
    }
  }
  expect_match(said(fs_audit(rows, "y")), "`sensitive_features`: got nothing", fixed = TRUE)
  expect_match(
    said(fs_audit(rows, "y", c("hat", "y"), sensitive_features = "sex")),
    "fs_compare_models",
    fixed = TRUE
  )
  expect_match(
    said(fs_equal_opportunity_difference(rows, "y", sensitive_features = "sex")),
    "`y_pred`: got nothing",
    fixed = TRUE
  )
  expect_match(said(fs_power_ratio(0.5, n = 20)), "`ratio`: got nothing", fixed = TRUE)
})

test_that("adverse impact", {
  impact <- function(...) fs_adverse_impact(rows, selected = "hat", sex = "sex", ...)
  refused(impact, c("race", "reference", "strata", "pos_label", "threshold", "confidence_level"))
  refused(function(...) fs_adverse_impact(rows, sex = "sex", ...), c("selected", "score"))
  refused(function(...) fs_adverse_impact(rows, selected = "hat", ...), "sex")
  refused(fs_adverse_impact, "data", c(never[names(never) != "frame"], nobody = list(rows[0, ])))
  expect_error(impact(score = "score"), "`selected, score`: got both")
  expect_error(fs_adverse_impact(rows, "hat"), "`sex, race`: got NULL")
  expect_error(
    fs_adverse_impact(rows, "sex", sex = "sex"),
    "`pos_label`: got 1, which does not occur in `sex`"
  )
  expect_error(
    fs_adverse_impact(rows, score = "sex", sex = "sex"),
    "`score`: got a character; allowed: numbers"
  )
  expect_equal(impact(pos_label = 0)$rate, 1 - impact(reference = "m")$rate)
})

test_that("files and limits", {
  refused(fs_read_report, "path")
  refused(fs_read_tally, "path")
  expect_error(fs_read_tally(tempdir()), "no file")
  skip_if_not_installed("hdrcde")
  expect_error(
    fs_hdr_levels_1d(1:10, rep(0.1, 10), 3, 0.5),
    "`x`: got one value; allowed: two or more"
  )
})
