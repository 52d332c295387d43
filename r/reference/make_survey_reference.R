# Recorded output of R's `survey` for weighted and clustered rates, ratios and differences.
#
#   Rscript r/reference/make_survey_reference.R [folder]        (default tests/reference)
#
# The data are drawn here, once, and stored in the file with 17 significant digits: a rerun draws
# the same.

suppressPackageStartupMessages(library(survey))

file <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))
source(file.path(
  if (length(file)) dirname(normalizePath(file)) else file.path("r", "reference"),
  "json.R"
))
folder <- commandArgs(TRUE)
folder <- if (length(folder)) folder[[1L]] else file.path("tests", "reference")
options(survey.lonely.psu = "fail")

make_data <- function() {
  set.seed(20240518L, "Mersenne-Twister", "Inversion", "Rejection")
  n_clusters <- 36L
  size <- sample(2:10, n_clusters, replace = TRUE)
  cluster <- rep(seq_len(n_clusters), size)
  n <- length(cluster)
  effect <- rnorm(n_clusters, sd = 0.7)[cluster]
  group <- sample(c("blue", "green", "red"), n, replace = TRUE, prob = c(0.5, 0.3, 0.2))
  shift <- c(blue = 0.5, green = 0, red = -0.4)[group]
  y_true <- rbinom(n, 1L, plogis(effect + shift))
  y_pred <- rbinom(n, 1L, plogis(-0.6 + 1.6 * y_true + 0.5 * effect + 0.6 * shift))
  weight <- round(rgamma(n, 3, 2) + 0.05, 4)
  data.frame(group, y_true, y_pred, weight, cluster)
}

# name of the rate -> the outcome whose mean it is, and the rows it is taken over
rates <- list(
  selection_rate = list(outcome = "y_pred", rows = function(d) rep(TRUE, nrow(d))),
  tpr = list(outcome = "y_pred", rows = function(d) d$y_true == 1L),
  fpr = list(outcome = "y_pred", rows = function(d) d$y_true == 0L),
  ppv = list(outcome = "y_true", rows = function(d) d$y_pred == 1L),
  false_omission_rate = list(outcome = "y_true", rows = function(d) d$y_pred == 0L)
)

estimate <- function(x) list(estimate = as.numeric(coef(x)), std_error = as.numeric(SE(x)))

# Totals of the four cells of every group with their covariance, and what is a function of several
# of them.
cell_totals <- function(design, data, reference) {
  cells <- c("tp", "fp", "fn", "tn")
  cell <- cells[
    1L +
      (data$y_pred == 0L) * 2L +
      (data$y_true == data$y_pred & data$y_pred == 0L) +
      (data$y_true == 0L & data$y_pred == 1L)
  ]
  groups <- sort(unique(data$group))
  names <- paste0(rep(groups, each = 4L), "_", cells)
  for (name in names) {
    design$variables[[name]] <- as.numeric(paste0(data$group, "_", cell) == name)
  }
  totals <- svytotal(as.formula(paste0("~", paste(names, collapse = "+"))), design)
  odds <- function(g) {
    parts <- lapply(paste0(g, "_", cells), as.name)
    names(parts) <- cells
    eval(substitute(bquote((.(tp) / (.(tp) + .(fn)) + .(fp) / (.(fp) + .(tn))) / 2), list()), parts)
  }
  contrasts <- lapply(setdiff(groups, reference), function(g) {
    c(
      list(group = g, reference = reference),
      list(
        average_odds_difference = estimate(svycontrast(
          totals,
          bquote(.(odds(g)) - .(odds(reference)))
        ))
      )
    )
  })
  list(
    cells = names,
    totals = as.numeric(coef(totals)),
    covariance = unname(as.matrix(vcov(totals))),
    contrasts = contrasts
  )
}

one_rate <- function(design, data, rate, reference) {
  domain <- subset(design, rate$rows(data))
  by <- svyby(as.formula(paste0("~", rate$outcome)), ~group, domain, svymean, covmat = TRUE)
  groups <- as.character(by$group)
  rates <- coef(by)
  contrasts <- lapply(setdiff(groups, reference), function(g) {
    calls <- list(
      ratio = bquote(.(as.name(g)) / .(as.name(reference))),
      log_ratio = bquote(log(.(as.name(g))) - log(.(as.name(reference))))
    )
    smooth <- lapply(calls, function(call) svycontrast(by, call))
    weights <- setNames(as.numeric(groups == g) - as.numeric(groups == reference), groups)
    difference <- svycontrast(by, list(difference = weights))
    c(
      list(group = g, reference = reference),
      lapply(smooth, estimate),
      list(difference = estimate(difference))
    )
  })
  covariance <- vcov(by)
  list(
    groups = groups,
    rate = unname(rates),
    std_error = unname(SE(by)),
    covariance = unname(covariance),
    rows = unname(as.integer(table(factor(data$group[rate$rows(data)], groups)))),
    domain_degf = degf(domain),
    contrasts = contrasts
  )
}

one_design <- function(data, ids, weights) {
  call <- sprintf(
    "svydesign(ids = %s, weights = %s, data = data)",
    if (is.null(ids)) "~1" else "~cluster",
    if (weights) "~weight" else "~one"
  )
  data$one <- 1
  design <- svydesign(
    ids = if (is.null(ids)) ~1 else ~cluster,
    weights = if (weights) ~weight else ~one,
    data = data
  )
  list(
    call = call,
    weighted = weights,
    clustered = !is.null(ids),
    degf = degf(design),
    cells = cell_totals(design, data, "blue"),
    rates = lapply(rates, function(rate) one_rate(design, data, rate, "blue"))
  )
}

data <- make_data()
result <- list(
  id = "survey_ratio",
  versions = package_versions(c("survey", "Matrix", "survival")),
  note = paste(
    "svyby(~outcome, ~group, subset(design, rows), svymean, covmat = TRUE); ratio, log_ratio and difference by",
    "svycontrast against `reference`. degf is the design's (sampling units - 1), domain_degf that of the subset.",
    "false_omission_rate is the mean of y_true among y_pred = 0: NPV is 1 minus it, with the same covariance."
  ),
  data = as.list(data),
  designs = list(
    weighted = one_design(data, NULL, TRUE),
    clustered = one_design(data, "cluster", FALSE),
    weighted_clustered = one_design(data, "cluster", TRUE),
    plain = one_design(data, NULL, FALSE)
  )
)

write_json(result, file.path(folder, "survey_ratio.json"))
