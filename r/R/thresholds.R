# The rule by which a threshold is chosen, as fairstats.numerics.evt.choice has it: a cap first,
# tests of fit second.

# So many values exceed the highest candidate.
LEAST_CHOSEN <- 20L

# At most n^(2/3) / 5 of n values exceed a chosen threshold; 8000^(2/3) / 5 is 80, whatever the last
# digit.
most_exceedances <- function(n) floor(n^(2 / 3) / 5 * (1 + 1e-12))

# Numbers of exceedances of the candidates, descending: from the most that the rule allows to the
# fewest.
candidate_counts <- function(n, n_thresholds, fewest = LEAST_CHOSEN) {
  lowest <- min(fewest, max(LEAST_TAIL, n %/% 2))
  most <- max(most_exceedances(n), lowest)
  steps <- exp(seq(log(most), log(lowest), length.out = n_thresholds))
  # a whole number stays one, whatever the last digit of its logarithm
  sort(unique(floor(steps * (1 + 1e-12))), decreasing = TRUE)
}

#' Choose a threshold by a rule that can be reported
#'
#' The rule of Python's `fairstats.evt.choose_threshold`: at most N^(2/3)/5 of N values exceed a
#' candidate, because tests of fit do not see a bias that is as large as an interval is wide.
#'
#' @param x The whole series, at least 21 values.
#' @param method `"forward_stop"`: test the generalised Pareto fit above each candidate, in
#'   ascending order, and go up as long as the rejected candidates have at most the false discovery
#'   rate given. `"k_largest"`: the (k + 1)-th largest value.
#' @param k For `"k_largest"`, at least ten. `NULL`: the most that the rule allows.
#' @param thresholds Candidates; `NULL`: so many values that from N^(2/3)/5 of them exceed the
#'   lowest to 20 the highest, in geometric progression.
#' @param n_thresholds Candidates by default.
#' @param false_discovery_rate Between 0 and 1.
#' @param n_resamples Simulated samples per candidate, by R's generator.
#'
#' @return A list: `threshold`, `n_exceedances`, `n_total`, `most_exceedances` (the rule's
#'   N^(2/3)/5), `rule`, `candidates` (a data frame of thresholds, values above, p-values,
#'   ForwardStop's estimates) and `notes`: that more values exceed the threshold than the rule
#'   allows, so that nothing is shown of levels.
#'
#' @references Bader, B., Yan, J. and Zhang, X. (2018). Automated threshold selection for extreme
#'   value analysis via ordered goodness-of-fit tests with adjustment for false discovery rate.
#'   *Annals of Applied Statistics* 12, 310--329.
#'
#' @examples
#' set.seed(1)
#' fs_choose_threshold(rexp(2000), "k_largest")$n_exceedances
#' @export
fs_choose_threshold <- function(
  x,
  method = c("forward_stop", "k_largest"),
  k = NULL,
  thresholds = NULL,
  n_thresholds = 15,
  false_discovery_rate = 0.1,
  n_resamples = 199
) {
  need_arguments()
  numbers_in(x, "x", size = NA)
  method <- choice_of(method, "method", c("forward_stop", "k_largest"))
  n <- length(x)
  numbers_in(n, "length of x", 2 * LEAST_TAIL + 1)
  ordered <- sort(x)
  if (method == "k_largest") {
    if (is.null(k)) {
      k <- candidate_counts(n, 2L)[1L]
    }
    numbers_in(k, "k", LEAST_TAIL, n - 1, whole = TRUE)
    u <- ordered[n - k]
    return(chosen(
      u,
      sum(x > u),
      n,
      method,
      data.frame(threshold = u, n = sum(x > u), pvalue = NaN, forward_stop = NaN)
    ))
  }
  numbers_in(n_thresholds, "n_thresholds", 2, whole = TRUE)
  numbers_in(n_resamples, "n_resamples", 19, whole = TRUE)
  numbers_in(false_discovery_rate, "false_discovery_rate", 0, 1, open = BOTH)
  if (is.null(thresholds)) {
    thresholds <- ordered[n - candidate_counts(n, n_thresholds)]
  }
  u <- sort(unique(numbers_in(thresholds, "thresholds", size = NA)))
  above <- vapply(u, function(one) sum(x > one), 0)
  if (any(above < LEAST_TAIL)) {
    stop_argument("thresholds", listed(u), paste("numbers that", LEAST_TAIL, "values exceed"))
  }
  pvalue <- vapply(u, function(one) fit_pvalue(x[x > one] - one, n_resamples), 0)
  # ForwardStop (G'Sell et al. 2016): an estimated false discovery rate of rejecting the first i
  # candidates
  stop_at <- cumsum(-log1p(-pmin(pvalue, 1 - 1e-12))) / seq_along(u)
  rejected <- which(stop_at <= false_discovery_rate)
  first <- if (length(rejected)) max(rejected) + 1L else 1L
  if (first > length(u)) {
    warning(
      "the model is rejected above every candidate: the highest one is returned",
      call. = FALSE
    )
    first <- length(u)
  }
  candidates <- data.frame(threshold = u, n = above, pvalue = pvalue, forward_stop = stop_at)
  chosen(u[first], above[first], n, method, candidates)
}

# What a choice returns.
chosen <- function(threshold, exceedances, n, method, candidates) {
  most <- most_exceedances(n)
  note <- if (exceedances > most) {
    paste0(
      "Insufficient evidence: ",
      exceedances,
      " of ",
      n,
      " values are more than the rule allows (N^(2/3)/5 = ",
      most,
      ")"
    )
  }
  choice <- list(
    threshold = threshold,
    n_exceedances = exceedances,
    n_total = n,
    most_exceedances = most,
    rule = method,
    candidates = candidates,
    notes = as.character(note)
  )
  structure(choice, class = "fairstats_threshold")
}

# Anderson and Darling's statistic of excesses under their own fit.
fit_distance <- function(excess) {
  fit <- gpd_twin(excess)$estimate
  z <- excess / fit[["scale"]]
  shape <- fit[["shape"]]
  depth <- sort(if (abs(shape) < 1e-9) z else log1p(pmax(shape * z, -1 + 1e-300)) / shape)
  depth <- pmin(pmax(depth, 1e-300), 700)
  n <- length(depth)
  weight <- (2 * seq_len(n) - 1) / n
  c(distance = -n - sum(weight * (log(-expm1(-depth)) - rev(depth))), fit)
}

# Its p-value, from samples of the fit that are fitted themselves.
fit_pvalue <- function(excess, n_resamples) {
  observed <- fit_distance(excess)
  shape <- observed[["shape"]]
  drawn <- replicate(n_resamples, {
    e <- stats::rexp(length(excess))
    fit_distance(observed[["scale"]] * if (abs(shape) < 1e-9) e else expm1(shape * e) / shape)[[
      "distance"
    ]]
  })
  (1 + sum(drawn >= observed[["distance"]], na.rm = TRUE)) / (sum(!is.na(drawn)) + 1)
}
