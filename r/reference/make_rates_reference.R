# Recorded output of the base-R twins of the rates: what Python is held to where R is not installed.
#
#   Rscript r/reference/make_rates_reference.R [folder]        (default tests/reference)

file <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))
source(file.path(
  if (length(file)) dirname(normalizePath(file)) else file.path("r", "reference"),
  "json.R"
))
folder <- commandArgs(TRUE)
folder <- if (length(folder)) folder[[1L]] else file.path("tests", "reference")
CODE_FOLDER <- file.path(here(), "..", "R")
for (code in list.files(CODE_FOLDER, "[.]R$", full.names = TRUE)) {
  source(code)
}

# Tables: every one with at most five cases per group, and larger ones of all kinds.
small <- expand.grid(n0 = c(1, 3, 5), n1 = c(2, 5))
tables <- do.call(
  rbind,
  lapply(seq_len(nrow(small)), function(i) {
    expand.grid(k0 = 0:small$n0[i], n0 = small$n0[i], k1 = 0:small$n1[i], n1 = small$n1[i])
  })
)
tables <- rbind(
  tables,
  data.frame(
    k0 = c(8, 15, 30, 0, 1112, 3, 50000, 99),
    n0 = c(30, 100, 30, 30, 9632, 1000, 1e6, 100),
    k1 = c(15, 25, 30, 12, 6395, 12, 40000, 100),
    n1 = c(30, 100, 30, 40, 20193, 900, 9e5, 100)
  )
)

ends <- function(contrast, method) {
  both <- t(mapply(
    function(k0, n0, k1, n1) {
      suppressWarnings(rate_interval(k0, n0, k1, n1, contrast, method))
    },
    tables$k0,
    tables$n0,
    tables$k1,
    tables$n1
  ))
  list(low = I(both[, 1L]), high = I(both[, 2L]))
}

draw_people <- function() {
  set.seed(20180718L, "Mersenne-Twister", "Inversion", "Rejection")
  cluster <- rep(seq_len(60L), each = 5L)
  n <- length(cluster)
  group <- sample(c("blue", "green", "red"), n, TRUE, c(0.5, 0.3, 0.2))
  y_true <- rbinom(n, 1L, c(blue = 0.6, green = 0.5, red = 0.4)[group])
  y_pred <- rbinom(
    n,
    1L,
    plogis(-0.7 + 1.8 * y_true + rnorm(60L, sd = 0.5)[cluster] - 0.6 * (group == "red"))
  )
  data.frame(group, y_true, y_pred, weight = round(rgamma(n, 3, 2) + 0.05, 4), cluster)
}
people <- draw_people()
rates <- c("selection_rate", "tpr", "tnr", "ppv", "npv")
# Every number of the groups against blue by one method, in the names of the recording.
compared <- function(rate, contrast, method, weighted, clustered) {
  input <- c(
    as.list(people[c("y_true", "y_pred")]),
    list(
      weight = if (weighted) people$weight,
      cluster = if (clustered) people$cluster,
      n = nrow(people)
    )
  )
  cells <- audit_cells(input, list(labels = people$group, groups = sort(unique(people$group))))
  others <- 2:3
  found <- crosscheck_comparisons(
    cells$totals,
    cells$rows,
    list(rate),
    c(1, 1),
    others,
    c(1, 1),
    contrast,
    rep(method, 2L),
    rep(method, 2L),
    0.95,
    if (contrast == "ratio") 0.8 else 0.1,
    "none",
    others,
    c(1, 1),
    cells$scatter,
    cells$units
  )
  n <- cell_metric(cells$totals, as_metric(rate, 4L), cells$rows)$rows
  c(
    list(group = cells$groups[others], reference = rep("blue", 2L)),
    found[c("rate", "rate_reference", "estimate", "std_error", "low", "high")],
    list(
      statistic = found$z_equal,
      p_equal = found$p_equal,
      p_less = found$p_less,
      p_greater = found$p_greater,
      p_equivalence = found$p_tost,
      n = n[others],
      n_reference = rep(n[1L], 2L)
    )
  )
}
comparison <- function(rate, contrast, method, weighted, clustered) {
  c(
    list(
      rate_name = rate,
      contrast = contrast,
      method = method,
      weighted = weighted,
      clustered = clustered
    ),
    lapply(compared(rate, contrast, method, weighted, clustered), I)
  )
}
plain <- rbind(
  expand.grid(
    rate = rates,
    contrast = "ratio",
    method = c("log", "delta", "score", "koopman"),
    stringsAsFactors = FALSE
  ),
  expand.grid(
    rate = rates,
    contrast = "difference",
    method = c("delta", "score", "mee"),
    stringsAsFactors = FALSE
  )
)
plain$weighted <- plain$clustered <- FALSE
linearised <- merge(
  rbind(
    expand.grid(
      rate = rates,
      contrast = "ratio",
      method = c("log", "delta"),
      stringsAsFactors = FALSE
    ),
    expand.grid(rate = rates, contrast = "difference", method = "delta", stringsAsFactors = FALSE)
  ),
  data.frame(weighted = c(TRUE, FALSE, TRUE), clustered = c(FALSE, TRUE, TRUE))
)
settings <- rbind(plain, linearised)
average_odds <- lapply(
  list(c(FALSE, FALSE), c(TRUE, FALSE), c(FALSE, TRUE), c(TRUE, TRUE)),
  function(s) {
    found <- compared("average_odds", "difference", "delta", s[1L], s[2L])
    c(list(weighted = s[1L], clustered = s[2L]), lapply(found, I))
  }
)
# With two groups the critical value for both rates is exact.
two <- people[people$group != "red", ]
cells <- audit_cells(
  c(as.list(two[c("y_true", "y_pred")]), n = nrow(two)),
  list(labels = two$group, groups = c("blue", "green"))
)
exact <- stats::qnorm((1 + sqrt(0.95)) / 2)
gap <- crosscheck_largest(cells$totals, cells$rows, c("tpr", "fpr"), 0.95, exact, FALSE)
gap <- list(estimate = gap$estimate, low = gap$range[1L], high = gap$range[2L], critical = exact)

write_json(
  list(
    id = "rates_twins",
    versions = package_versions(character()),
    note = "base-R twins in r/R; level 0.95, thresholds 0.8 (ratio) and 0.1 (difference); reference blue",
    tables = lapply(as.list(tables), I),
    ratio = list(score = ends("ratio", "score"), koopman = ends("ratio", "koopman")),
    difference = list(score = ends("difference", "score"), mee = ends("difference", "mee")),
    people = lapply(as.list(people), I),
    comparisons = Map(
      comparison,
      settings$rate,
      settings$contrast,
      settings$method,
      settings$weighted,
      settings$clustered,
      USE.NAMES = FALSE
    ),
    average_odds = average_odds,
    two_groups_equalized_odds = gap
  ),
  file.path(folder, "rates_twins.json")
)
