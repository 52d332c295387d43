#' Ratios of rates between groups
#'
#' Disparate impact compares selection rates; conditional (procedure) accuracy compares P(prediction = label |
#' Y = label): true positive rates for label 1, true negative rates for label 0; conditional use accuracy
#' compares P(Y = prediction | prediction): precision and negative predictive value.
#'
#' @inheritParams compare_rates
#' @param label,prediction Which label or prediction to condition on, 1 or 0.
#' @param ... Passed to [compare_rates()]: `method`, `level`, `threshold`, `weight`, `cluster`.
#' @return The data frame of [compare_rates()].
#' @references Besse, del Barrio, Gordaliza, Loubes (2018). Confidence intervals for testing disparate impact
#'   in fair learning. arXiv:1807.06362.
#' @examples
#' set.seed(1)
#' group <- sample(c("a", "b"), 200, TRUE)
#' y_true <- rbinom(200, 1, 0.5)
#' y_pred <- rbinom(200, 1, ifelse(group == "a", 0.6, 0.4))
#' disparate_impact(y_pred, group, reference = "a")
#' conditional_accuracy(y_true, y_pred, group, reference = "a", method = "score")
#' @export
disparate_impact <- function(y_pred, group, reference = NULL, ...) {
  compare_rates(NULL, y_pred, group, "selection_rate", "ratio", reference, ...)
}

#' @rdname disparate_impact
#' @export
conditional_accuracy <- function(y_true, y_pred, group, reference = NULL, label = 1, ...) {
  compare_rates(y_true, y_pred, group, if (label == 1) "tpr" else "tnr", "ratio", reference, ...)
}

#' @rdname disparate_impact
#' @export
conditional_use_accuracy <- function(y_true, y_pred, group, reference = NULL, prediction = 1, ...) {
  compare_rates(y_true, y_pred, group, if (prediction == 1) "ppv" else "npv", "ratio", reference, ...)
}

#' Differences of rates between groups
#'
#' Each group minus the reference: selection rates (demographic parity, SPD), true positive rates (equal
#' opportunity), precision (predictive parity), and the mean of the differences of true and false positive
#' rates (average odds, AOD).
#'
#' @inheritParams disparate_impact
#' @return The data frame of [compare_rates()].
#' @examples
#' set.seed(1)
#' group <- sample(c("a", "b"), 200, TRUE)
#' y_true <- rbinom(200, 1, 0.5)
#' y_pred <- rbinom(200, 1, ifelse(group == "a", 0.6, 0.4))
#' demographic_parity_difference(y_true, y_pred, group, reference = "a")
#' average_odds_difference(y_true, y_pred, group, reference = "a")
#' @export
demographic_parity_difference <- function(y_true, y_pred, group, reference = NULL, ...) {
  compare_rates(y_true, y_pred, group, "selection_rate", "difference", reference, ...)
}

#' @rdname demographic_parity_difference
#' @export
equal_opportunity_difference <- function(y_true, y_pred, group, reference = NULL, ...) {
  compare_rates(y_true, y_pred, group, "tpr", "difference", reference, ...)
}

#' @rdname demographic_parity_difference
#' @export
predictive_parity_difference <- function(y_true, y_pred, group, reference = NULL, ...) {
  compare_rates(y_true, y_pred, group, "ppv", "difference", reference, ...)
}

#' @rdname demographic_parity_difference
#' @param level,threshold,weight,cluster See [compare_rates()].
#' @export
average_odds_difference <- function(y_true, y_pred, group, reference = NULL, level = 0.95, threshold = 0.1,
                                    weight = NULL, cluster = NULL) {
  y_true <- as.numeric(y_true)
  y_pred <- as.numeric(y_pred)
  group <- as.character(group)
  groups <- sort(unique(group), method = "radix")
  w <- if (is.null(weight)) rep(1, length(y_true)) else as.numeric(weight)
  halves <- lapply(c("tpr", "fpr"), function(rate) {
    columns <- rate_columns(rate, y_true, y_pred)
    group_rates(columns[[1L]], columns[[2L]], group, weight, cluster, groups)
  })
  table <- halves[[1L]]
  table$rate <- (halves[[1L]]$rate + halves[[2L]]$rate) / 2
  if (is.finite(table$df)) {
    influence <- 0
    for (k in 1:2) {
      member <- outer(group, groups, "==") & (y_true == 2 - k)
      influence <- influence +
        t(t(member * w * (y_pred - rep(halves[[k]]$rate, each = length(group)))) / halves[[k]]$cases) / 2
    }
    table$covariance <- linearised_covariance(influence, cluster)$covariance
  } else {
    table$covariance <- (halves[[1L]]$covariance + halves[[2L]]$covariance) / 4
  }
  table$rows <- halves[[1L]]$rows + halves[[2L]]$rows
  compare_table(table, table$rows, "difference", reference, "delta", level, threshold)
}

#' The largest gap between any two groups, with an interval
#'
#' The maximum over all pairs of groups, and over the given rates, of the absolute difference; with
#' `c("tpr", "fpr")` the equalised-odds difference. The interval is the projection of a simultaneous band: if
#' every difference lies within its limits at the critical value c, the maximum lies between the largest
#' distance of the limits from 0 on the near side and on the far side. Its coverage is at least nominal.
#'
#' @inheritParams compare_rates
#' @param rates Names of the rates.
#' @param method Limits of each difference: `"score"` (Miettinen and Nurminen at c) or `"delta"` (d -/+ c s).
#' @param draws Random draws for the critical value c. With two groups c is exact and nothing is drawn.
#' @return A list: `estimate`, `low`, `high`, `critical`, `differences` (data frame).
#' @examples
#' set.seed(1)
#' group <- sample(c("a", "b"), 200, TRUE)
#' y_true <- rbinom(200, 1, 0.5)
#' y_pred <- rbinom(200, 1, 0.5)
#' largest_gap(y_true, y_pred, group, c("tpr", "fpr"))[c("estimate", "low", "high")]
#' @export
largest_gap <- function(y_true, y_pred, group, rates, level = 0.95, method = c("score", "delta"),
                        draws = 2^18) {
  method <- match.arg(method)
  tables <- lapply(rates, function(rate) {
    columns <- rate_columns(rate, y_true, y_pred)
    group_rates(columns[[1L]], columns[[2L]], group)
  })
  found <- do.call(rbind, Map(pair_differences, rates, tables))
  critical <- if (length(tables[[1L]]$groups) == 2L) {
    stats::qnorm((1 + level^(1 / length(rates))) / 2)
  } else {
    largest <- 0
    for (table in tables) largest <- pmax(largest, max_abs_z(table, draws))
    stats::quantile(largest, level, names = FALSE)
  }
  each <- 2 * stats::pnorm(critical) - 1
  ends <- mapply(
    function(k0, n0, k1, n1) difference_interval(k0, n0, k1, n1, each, method),
    found$successes, found$cases, found$successes_reference, found$cases_reference
  )
  found$low <- pmax(ends[1L, ], -1)
  found$high <- pmin(ends[2L, ], 1)
  list(
    estimate = max(abs(found$estimate)), low = max(found$low, -found$high, 0),
    high = max(abs(found$low), abs(found$high)), critical = critical, differences = found
  )
}

pair_differences <- function(rate, table) {
  pairs <- utils::combn(length(table$groups), 2L)
  v <- diag(table$covariance)
  data.frame(
    rate = rate, group = table$groups[pairs[1L, ]], reference = table$groups[pairs[2L, ]],
    estimate = table$rate[pairs[1L, ]] - table$rate[pairs[2L, ]],
    std_error = sqrt(v[pairs[1L, ]] + v[pairs[2L, ]]),
    successes = table$successes[pairs[1L, ]], cases = table$cases[pairs[1L, ]],
    successes_reference = table$successes[pairs[2L, ]], cases_reference = table$cases[pairs[2L, ]]
  )
}

# Draws of the largest |z| over all pairs of independent groups.
max_abs_z <- function(table, draws) {
  v <- diag(table$covariance)
  noise <- matrix(stats::rnorm(draws * length(v)), draws) * rep(sqrt(v), each = draws)
  pairs <- utils::combn(length(v), 2L)
  largest <- 0
  for (k in seq_len(ncol(pairs))) {
    i <- pairs[1L, k]
    j <- pairs[2L, k]
    largest <- pmax(largest, abs(noise[, i] - noise[, j]) / sqrt(v[i] + v[j]))
  }
  largest
}
