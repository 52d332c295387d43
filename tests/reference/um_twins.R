# Writes um_twins.json: what the base-R twins of Uncertainty Matters answer, for tests where R is missing.
#
#   Rscript tests/reference/um_twins.R        (from the root of the project)

CODE_FOLDER <- "r/R"
for (file in c(list.files("r/R", full.names = TRUE), "r/reference/json.R")) {
  sys.source(file, envir = globalenv())
}

set.seed(20240718, "Mersenne-Twister", "Inversion", "Rejection")
counts <- rbind(c(420.5, 380, 120, 79.5), c(150, 230, 70, 50), c(12, 30, 9, 6))
colnames(counts) <- c("tp", "tn", "fp", "fn")
drawn <- fs_um_draws(counts, 60)
metrics <- c(
  "accuracy",
  "balanced_accuracy",
  "f1",
  "mcc",
  "tpr",
  "tnr",
  "fpr",
  "fnr",
  "ppv",
  "npv",
  "selection_rate",
  "base_rate",
  "error_ratio"
)
answer <- function(metric) {
  at <- function(contrast) fs_um_metric(drawn, metric, contrast, reference = 2)
  list(
    overall = I(at("overall")),
    difference = at("difference"),
    ratio = at("ratio"),
    max = I(at("max"))
  )
}
many <- fs_um_draws(counts, 2e5)
rates <- lapply(setNames(nm = metrics), function(m) fs_um_metric(many, m, "group"))
next_test <- fs_um_draws(round(counts), 2e5, target = "predictive")
next_rates <- lapply(setNames(nm = c("tpr", "accuracy", "selection_rate")), function(m) {
  fs_um_metric(next_test, m, "group")
})
moments <- function(x) {
  list(mean = I(colMeans(x, na.rm = TRUE)), sd = I(apply(x, 2L, stats::sd, na.rm = TRUE)))
}
delta <- round(matrix(stats::rnorm(600, 0.004, 0.012), 200), 3)
ratios <- c(0.3, 0.8, 1, 1.4, 3, 8, 30)
halves <- lapply(1:4, function(i) matrix(stats::runif(15, 0.6, 0.9), 5))

write_json(
  list(
    about = "made by tests/reference/um_twins.R",
    versions = package_versions(character()),
    counts = unname(counts),
    drawn = drawn,
    metrics = lapply(setNames(nm = metrics), answer),
    moments = lapply(rates, moments),
    predictive = lapply(next_rates, moments),
    delta = delta,
    rope = I(c(0.01, 0.005, 0.01)),
    events = fs_um_events(delta, c(0.01, 0.005, 0.01)),
    ratios = I(ratios),
    factors = lapply(
      setNames(nm = c("1/K", "uniform", "relative", "relative-uniform")),
      function(s) {
        list(
          five = I(fs_um_effective_factor(s, 5, ratios)),
          ten = I(fs_um_effective_factor(s, 10, ratios))
        )
      }
    ),
    halves = halves,
    variance_ratio = fs_um_variance_ratio(halves[1:2], halves[3:4], 0.9)
  ),
  "tests/reference/um_twins.json"
)
