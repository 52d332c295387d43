#' Power and sample size of the disparate-impact test
#'
#' Exact power of the score test (Miettinen and Nurminen 1985) of a ratio: the probability of all pairs of counts that
#' it rejects. `fs_sample_size_ratio` finds the first group size that reaches the wanted power, from where the formula
#' of Farrington and Manning (1990) comes near it. `"violated"` and `"satisfied"` count tables with fewer than ten of a
#' kind by the exact unconditional test, as verdicts do, where n times n_reference is at most 100,000 (the score beyond).
#'
#' @param rate_reference Assumed rate of the reference, in (0, 1).
#' @param ratio Assumed true ratio; what is to be shown must be true of it.
#' @param n,n_reference Cases in the group and in the reference, whole numbers.
#' @param threshold In (0, 1]: null value of the one-sided tests, end of the fair range of verdicts.
#' @param alternative `"less"` and `"greater"`: one-sided tests against the threshold; `"two-sided"`: of a ratio of 1;
#'   `"violated"` and `"satisfied"`: that verdict on a single comparison.
#' @param level The test has size 1 - `level`.
#' @return `fs_power_ratio`: the power. `fs_sample_size_ratio`: a list with n, n_reference and the power that they reach.
#' @references Farrington, Manning (1990). Test statistics and sample size formulae for comparative binomial trials with
#'   null hypothesis of non-zero risk difference or non-unity relative risk. Statistics in Medicine 9, 1447-1454.
#' @examples
#' fs_power_ratio(0.5, 0.7, n = 400)
#' fs_sample_size_ratio(0.5, 0.6, power = 0.8)$n
#' @export
fs_power_ratio <- function(rate_reference, ratio, n, n_reference = n, threshold = 0.8,
                        alternative = c("less", "greater", "two-sided", "violated", "satisfied"), level = 0.95) {
  alternative <- checked_plan(rate_reference, ratio, threshold, alternative, level)
  numbers_in(n, "n", 1, whole = TRUE)
  numbers_in(n_reference, "n_reference", 1, whole = TRUE)
  planned_power(rate_reference, ratio, n, n_reference, threshold, alternative, level)
}

# Without exact tests where the score alone shows that the power is below the one wanted: they show hardly more.
planned_power <- function(q, ratio, n, n_reference, threshold, alternative, level, wanted = 0) {
  # for every count of the reference the counts of the group that show a low or a high ratio
  likely <- stats::qbinom(c(1e-17, 1 - 1e-16), n_reference, q) + c(-2, 2)
  k1 <- seq(max(0, likely[1L]), min(n_reference, likely[2L]))
  shown <- plan_evidence(threshold, alternative, level)
  z <- function(k0, null) score_z(k0, n, k1, n_reference, "ratio", null)
  last_low <- first_where(function(k0) !shown$low(function(null) z(k0, null)), length(k1), n) - 1
  first_high <- first_where(function(k0) shown$high(function(null) z(k0, null)), length(k1), n)
  p <- q * ratio
  up_to <- stats::pbinom(last_low, n, p)
  from <- stats::pbinom(first_high - 1, n, p, lower.tail = FALSE)
  chance <- switch(alternative,
    less = up_to, greater = from, satisfied = pmax(up_to + from - 1, 0), up_to + from
  )
  by_score <- sum(stats::dbinom(k1, n_reference, q) * chance)
  exactly <- counts_exactly(alternative, n, n_reference)
  if (!exactly || by_score < wanted - 0.02) return(by_score)
  more <- power_of_few(q, ratio, n, n_reference, threshold, alternative, level)
  min(max(by_score + more, 0), 1)
}

counts_exactly <- function(alternative, n, m) alternative %in% c("violated", "satisfied") && min(n, m) <= 2000 && n * m <= 1e5

# What the probability of a verdict changes by where tables with fewer than 10 of a kind are judged by exact tests: those
# whose p-value by score is at most four times the error.
power_of_few <- function(q, ratio, n, m, threshold, alternative, level) {
  tables <- expand.grid(k = 0:n, j = 0:m)
  chance <- stats::dbinom(tables$k, n, q * ratio) * stats::dbinom(tables$j, m, q)
  few <- pmin(tables$k, n - tables$k, tables$j, m - tables$j) < 10 & chance > 1e-16
  tables <- tables[few, ]
  chance <- chance[few]
  z <- lapply(c(threshold, 1 / threshold), function(null) score_z(tables$k, n, tables$j, m, "ratio", null))
  width <- z[[1L]] - z[[2L]]
  violated <- alternative == "violated"
  toward <- if (violated) list(z[[1L]], -z[[2L]]) else list(-z[[1L]], z[[2L]])
  near <- lapply(toward, function(t) which(stats::pnorm(t) + stats::pnorm(t - width) <= 4 * (1 - level)))
  shown <- logical(length(chance))
  if (!violated) shown[intersect(near[[1L]], near[[2L]])] <- TRUE
  for (end in 1:2) {
    at <- if (violated) setdiff(near[[end]], which(shown)) else which(shown)
    side <- if (violated == (end == 1)) "less" else "greater"
    null <- c(threshold, 1 / threshold)[end]
    shown[at] <- exactly_shown(
      tables$k[at], n, tables$j[at], m, chance[at], toward[[end]][at], width[at], null, side, 1 - level
    )
  }
  score <- plan_evidence(threshold, alternative, level)
  of <- function(null) if (null == threshold) z[[1L]] else z[[2L]]
  join <- if (violated) `|` else `&`
  sum(chance * (shown - join(score$low(of), score$high(of))))
}

# Whether exact tests on a side of an end of the fair range show it left, or kept: p + pnorm(qnorm(p) - width) is at most
# the error where p is at most a limit; p rises along the tables ordered by z, so that runs are halved until a p before
# them or that of their last table settles them, or their chance is too small to count.
exactly_shown <- function(k, n, j, m, chance, z, width, null, side, error) {
  place <- order(z)
  low <- rep(error / 2, length(z))
  high <- rep(error, length(z))
  for (step in 1:50) {
    middle <- (low + high) / 2
    fine <- middle + stats::pnorm(stats::qnorm(middle) - width[place]) <= error
    low <- ifelse(fine, middle, low)
    high <- ifelse(fine, high, middle)
  }
  known <- rep(NA_real_, length(z))
  shown <- logical(length(z))
  settle <- function(first, last) {
    run <- first:last
    before <- max(0, known[seq_len(first - 1)], na.rm = TRUE)
    if (before > max(low[run]) || sum(chance[place[run]]) < 1e-12) return()
    if (is.na(known[last])) {
      known[last] <<- exact_pvalue(k[place[last]], n, j[place[last]], m, "ratio", null, side)
    }
    if (known[last] <= min(low[run])) {
      shown[place[run]] <<- TRUE
    } else if (last > first) {
      middle <- (first + last) %/% 2
      settle(first, middle)
      settle(middle + 1, last)
    }
  }
  if (length(z)) settle(1, length(z))
  shown
}

# What shows a ratio below or above: functions of the score statistic at a null value.
plan_evidence <- function(threshold, alternative, level) {
  c <- stats::qnorm(if (alternative == "two-sided") (1 + level) / 2 else level)
  from <- if (alternative == "two-sided") 1 else threshold
  # the test of an interval hypothesis counts both directions at an end of the fair range
  both <- function(z, sign) {
    stats::pnorm(sign * z(threshold)) + stats::pnorm(sign * z(1 / threshold)) <= 1 - level
  }
  switch(alternative,
    violated = list(low = function(z) both(z, 1), high = function(z) both(z, -1)),
    satisfied = list(low = function(z) z(1 / threshold) <= -c, high = function(z) z(threshold) >= c),
    list(low = function(z) z(from) <= -c, high = function(z) z(from) >= c)
  )
}

# For each of `count` elements the first number from 0 to n at which `true` holds, n + 1 where it never does.
first_where <- function(true, count, n) {
  low <- rep(-1, count)
  high <- rep(n + 1, count)
  while (any(high - low > 1)) {
    middle <- pmin(pmax(ceiling((low + high) / 2), 0), n)
    found <- true(middle)
    high <- ifelse(high - low > 1 & found, middle, high)
    low <- ifelse(high - low > 1 & !found, middle, low)
  }
  high
}

#' @rdname fs_power_ratio
#' @param power Wanted power.
#' @param allocation Cases in the reference per case in the group.
#' @export
fs_sample_size_ratio <- function(rate_reference, ratio, power = 0.8, allocation = 1, threshold = 0.8,
                              alternative = c("less", "greater", "two-sided", "violated", "satisfied"), level = 0.95) {
  alternative <- checked_plan(rate_reference, ratio, threshold, alternative, level)
  numbers_in(power, "power", 1 - level, 1, open = BOTH)
  numbers_in(allocation, "allocation", 0, open = "low")
  most <- 1e7 / max(allocation, 1)
  about <- function(n, wanted) {
    formula_power(rate_reference, ratio, n, ceiling(allocation * n), threshold, alternative, level) >= wanted
  }
  reaches <- function(n) {
    planned_power(rate_reference, ratio, n, ceiling(allocation * n), threshold, alternative, level, power) >= power
  }
  near <- halving(function(n) about(n, power), 2, most)
  p <- rate_reference * ratio
  q <- rate_reference
  few <- min(near * c(p, 1 - p), ceiling(allocation * near) * c(q, 1 - q))
  n <- halving(function(n) about(n, power - 0.2 / sqrt(1 + few)), 2, most)
  step <- 1
  while (n + step < most && !reaches(n + step)) step <- 2 * step
  if (step >= if (counts_exactly(alternative, n, ceiling(allocation * n))) 20 else 500) {
    n <- halving(reaches, n, min(n + step, most))
  } else {
    while (n <= most && !reaches(n)) n <- n + 1
  }
  if (n > most || !reaches(n)) stop_argument("ratio", listed(ratio), "what 10,000,000 cases of each group can show")
  m <- ceiling(allocation * n)
  list(n = n, n_reference = m, power = fs_power_ratio(q, ratio, n, m, threshold, alternative, level))
}

# The first whole number from low to high at which a monotone condition holds; high where it holds nowhere before.
halving <- function(true, low, high) low + first_where(function(k) true(low + k), 1L, floor(high) - low - 1)

# Power by the variances under the null and the assumed rates; rates may be multiples of 1/n here.
formula_power <- function(q, ratio, n, m, threshold, alternative, level) {
  c <- stats::qnorm(if (alternative == "two-sided") (1 + level) / 2 else level)
  p <- q * ratio
  shown <- function(null, side) {
    s <- sqrt(p * (1 - p) / n + null^2 * q * (1 - q) / m)
    d <- p - null * q
    z <- score_z(n * p, n, m * q, m, "ratio", null)
    s0 <- if (abs(z) > 0) d / z else s
    stats::pnorm((side * d - c * s0) / s)
  }
  ends <- switch(alternative, "two-sided" = c(1, 1), violated = , satisfied = c(threshold, 1 / threshold), threshold)
  low <- shown(ends[1L], -1)
  high <- shown(ends[length(ends)], 1)
  switch(alternative,
    less = low, greater = high,
    satisfied = max(shown(ends[1L], 1) + shown(ends[2L], -1) - 1, 0), min(low + high, 1)
  )
}

checked_plan <- function(rate_reference, ratio, threshold, alternative, level) {
  alternative <- choice_of(alternative, "alternative", c("less", "greater", "two-sided", "violated", "satisfied"))
  numbers_in(level, "level", 0, 1, open = BOTH)
  numbers_in(rate_reference, "rate_reference", 0, 1, open = BOTH)
  numbers_in(threshold, "threshold", 0, 1, open = "low")
  numbers_in(ratio, "ratio", 0, 1 / rate_reference, open = BOTH)
  fine <- switch(alternative,
    less = ratio < threshold, greater = ratio > threshold, "two-sided" = ratio != 1,
    violated = ratio < threshold || ratio > 1 / threshold, satisfied = ratio > threshold && ratio < 1 / threshold
  )
  if (!fine) stop_argument("ratio", listed(ratio), "a ratio of which it is true what is to be shown")
  alternative
}

#' One ratio of selection rates over strata, and the change between two models
#'
#' `fs_stratified_ratio`: the Mantel-Haenszel ratio over strata of a confounder with the variance of Greenland and
#' Robins, the Cochran-Mantel-Haenszel test, Cochran's Q and the Breslow-Day test with Tarone's adjustment.
#' `fs_compare_models`: how a metric changes from one model to another on the same people, by the paired score test
#' within the groups, which MOVER combines; predictive values by the delta method with half a row in every cell.
#'
#' @inheritParams fs_disparate_impact
#' @param strata Column of the strata.
#' @param y_pred Predictions; for `fs_compare_models` of all models: names of columns, best with the models' names.
#' @param metrics Metrics of rates, as in [fs_group_metric()], and "accuracy".
#' @param baseline Model that the others are compared with; default all pairs.
#' @param comparisons,reference,pos_label,confidence_level,threshold,adjust As in [fs_audit()].
#' @return A data frame: group, reference, estimate, std_error, ci_low, ci_high, statistic, pvalue,
#'   pvalue_adjusted, and for strata crude (the ratio that leaves them out), cmh_p, q_p, tarone_p; for models
#'   before, after, and distance, distance_low, distance_high (change of the distance from parity, on the log scale
#'   for ratios).
#' @references Greenland, Robins (1985). Estimation of a common effect parameter from sparse follow-up data.
#'   Biometrics 41, 55-68. Nam, Blackwelder (2002). Analysis of the ratio of marginal probabilities in a matched-pair
#'   setting. Statistics in Medicine 21, 689-699. Tango (1998). Equivalence test and confidence interval for the
#'   difference in proportions for the paired-sample design. Statistics in Medicine 17, 891-908.
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' fs_stratified_ratio(people, "hired", "origin", "qualified", reference = "north")
#' people$stricter <- as.numeric(people$score > 0.6)
#' fs_compare_models(people, "qualified", c(first = "hired", stricter = "stricter"), "sex",
#'   pos_label = list(y_true = "yes", y_pred = 1))
#' @export
fs_stratified_ratio <- function(data = NULL, y_pred, sensitive_features, strata, reference = NULL, pos_label = 1,
                                confidence_level = 0.95, threshold = 0.8, adjust = "holm") {
  audit_options(confidence_level, threshold, adjust = adjust)
  if (is.null(y_pred)) stop_argument("y_pred", "NULL", "the column of the predictions")
  input <- read_columns(data, NULL, y_pred, NULL, sensitive_features, pos_label)
  stratum <- label_text(column_of(data, strata, "strata"))
  if (length(stratum) != input$n || anyNA(stratum)) {
    stop_argument("strata", "missing values or another length", "the stratum of every row")
  }
  grouping <- make_groups(input$attributes)
  pairs <- make_pairs(grouping, reference_in(reference, names(input$attributes)), "reference")
  cells <- table(factor(stratum), factor(grouping$labels, grouping$groups), factor(input$y_pred, 1:0))
  cells <- array(as.numeric(cells), dim(cells))
  found <- bind_rows(lapply(seq_len(nrow(pairs)), function(k) {
    one <- crosscheck_stratified(cells[, pairs[k, ], , drop = FALSE], confidence_level, threshold)
    list(
      metric = "disparate_impact_stratified", group = grouping$groups[pairs[k, 1L]],
      reference = grouping$groups[pairs[k, 2L]], estimate = one$estimate, std_error = one$std_error, ci_low = one$low,
      ci_high = one$high, statistic = one$z_equal, pvalue = one$p_equal,
      p_below = one$p_below, p_above = one$p_above, p_inside = one$p_inside, crude = one$crude, cmh_p = one$cmh_p,
      q_p = one$q_p, tarone_p = one$tarone_p
    )
  }))
  settle_rows(with_adjusted(found, adjust), list(confidence_level = confidence_level, adjust = adjust))
}

with_adjusted <- function(found, adjust) {
  at <- match("pvalue", names(found))
  adjusted <- data.frame(pvalue_adjusted = adjust_pvalues(found$pvalue, adjust))
  cbind(found[seq_len(at)], adjusted, found[-seq_len(at)])
}

#' @rdname fs_stratified_ratio
#' @export
fs_compare_models <- function(data = NULL, y_true, y_pred, sensitive_features, metrics = "disparate_impact",
                              baseline = NULL, reference = NULL, pos_label = 1, confidence_level = 0.95,
                              comparisons = "reference", adjust = "holm") {
  audit_options(confidence_level, comparisons = comparisons, adjust = adjust)
  if (!is.character(y_pred) && !is.list(y_pred)) stop_argument("y_pred", listed(y_pred), "the columns of two models or more")
  if (!is.character(metrics) || !length(metrics) || anyNA(metrics)) stop_argument("metrics", listed(metrics), "names of metrics")
  models <- if (is.null(names(y_pred))) stats::setNames(y_pred, LETTERS[seq_along(y_pred)]) else y_pred
  if (length(models) < 2L) stop_argument("y_pred", listed(models), "the columns of two models or more")
  if (is.null(y_true)) stop_argument("y_true", "NULL", "the column of the outcomes")
  input <- read_columns(data, y_true, models[[1L]], NULL, sensitive_features, pos_label)
  predicted <- lapply(models, function(m) read_columns(data, NULL, m, NULL, sensitive_features, pos_label)$y_pred)
  grouping <- make_groups(input$attributes)
  pairs <- make_pairs(grouping, reference_in(reference, names(input$attributes)), comparisons)
  against <- utils::combn(names(models), 2L)
  if (!is.null(baseline)) baseline <- choice_of(baseline, "baseline", names(models))
  if (!is.null(baseline)) against <- rbind(baseline, setdiff(names(models), baseline))
  every <- lapply(metrics, function(metric) {
    what <- if (metric == "accuracy") list(rates = "accuracy", rows = "accuracy", contrast = "level") else find_metric(metric)
    places <- if (what$contrast == "level") matrix(seq_along(grouping$groups)) else pairs
    tasks <- expand.grid(k = seq_len(nrow(places)), r = seq_along(what$rates), m = seq_len(ncol(against)))
    if (what$contrast == "gap") tasks <- data.frame(k = NA, r = 1L, m = seq_len(ncol(against)))
    joint <- 1 - (1 - confidence_level) / nrow(tasks)
    levels <- c(confidence_level, joint, if (adjust == "none") confidence_level else joint)
    found <- bind_rows(lapply(seq_len(nrow(tasks)), function(t) {
      who <- against[, tasks$m[t]]
      counts <- table(
        factor(grouping$labels, grouping$groups),
        factor(paste0(input$y_true, predicted[[who[1L]]], predicted[[who[2L]]]), PAIRED_CELLS)
      )
      totals <- matrix(as.numeric(counts), nrow(counts))
      at <- if (is.na(tasks$k[t])) c(NA, NA) else places[tasks$k[t], ]
      one <- if (what$contrast == "gap") {
        crosscheck_paired_gap(totals, totals, PAIRED_CELLS, what$rates, levels)
      } else {
        crosscheck_paired(totals, totals, at, PAIRED_CELLS, what$rates[tasks$r[t]], what$contrast, levels)
      }
      row <- change_row(
        what$rows[tasks$r[t]], grouping$groups[at[1L]], if (length(at) > 1L) grouping$groups[at[2L]] else "", one
      )
      c(row["metric"], model = who[2L], baseline = who[1L], row[-1L], list(
        simultaneous_low = one$joint_low, simultaneous_high = one$joint_high, statistic = one$statistic,
        pvalue = one$pvalue, distance = one$distance, distance_low = one$distance_low, distance_high = one$distance_high
      ))
    }))
    with_adjusted(found, adjust)
  })
  do.call(rbind, every)
}

# One ratio over strata. cells: strata x (group, reference) x (selected, not).
crosscheck_stratified <- function(cells, level, threshold) {
  pooled <- apply(cells, c(2L, 3L), sum)
  share <- pooled[, 1L] / rowSums(pooled)
  sizes <- apply(cells, c(1L, 2L), sum)
  used <- cells[sizes[, 1L] > 0 & sizes[, 2L] > 0, , , drop = FALSE]
  k0 <- used[, 1L, 1L]
  k1 <- used[, 2L, 1L]
  n0 <- k0 + used[, 1L, 2L]
  n1 <- k1 + used[, 2L, 2L]
  n <- n0 + n1
  up <- sum(k0 * n1 / n)
  down <- sum(k1 * n0 / n)
  ratio <- up / down
  s <- sqrt(sum((n0 * n1 * (k0 + k1) - k0 * k1 * n) / n^2) / (up * down))
  ends <- function(critical) ratio * exp(c(-1, 1) * critical * s)
  z <- log(ratio / threshold) / s
  shows <- evidence_of(z, log(ratio * threshold) / s, Inf, level)
  two_sided <- ends(stats::qnorm((1 + level) / 2))
  one_sided <- ends(stats::qnorm(level))
  bounds <- ends(shows$critical)
  out <- list(
    rate = share[1L], rate_reference = share[2L], crude = share[1L] / share[2L], estimate = ratio,
    std_error = ratio * s, low = two_sided[1L], high = two_sided[2L], side_low = one_sided[1L],
    side_high = one_sided[2L], bound_low = bounds[1L], bound_high = bounds[2L], p_below = shows$p_below,
    p_above = shows$p_above, p_inside = shows$p_inside, z = z, p_less = stats::pnorm(z),
    p_greater = stats::pnorm(z, lower.tail = FALSE), z_equal = log(ratio) / s,
    p_equal = 2 * stats::pnorm(-abs(log(ratio) / s))
  )
  table <- aperm(used, c(2L, 3L, 1L))
  # mantelhaen.test wants two strata, and none without variation
  varied <- apply(table, 3L, function(t) all(rowSums(t) > 0) && all(colSums(t) > 0))
  none <- list(statistic = NaN, p.value = NaN)
  cmh <- if (sum(varied) > 1L) {
    stats::mantelhaen.test(table[, , varied, drop = FALSE], correct = FALSE)
  } else {
    d <- sum(k0 - n0 * (k0 + k1) / n)
    v <- sum(n0 * n1 * (k0 + k1) * (n - k0 - k1) / (n^2 * (n - 1)))
    list(statistic = d^2 / v, p.value = stats::pchisq(d^2 / v, 1, lower.tail = FALSE))
  }
  known <- k0 > 0 & k1 > 0 & (k0 < n0 | k1 < n1)
  l <- log((k0 / n0) / (k1 / n1))[known]
  w <- 1 / ((1 - k0 / n0) / k0 + (1 - k1 / n1) / k1)[known]
  q <- sum(w * (l - sum(w * l) / sum(w))^2)
  tarone <- tarone_test(k0, n0, k1, n1)
  c(out, list(
    cmh = unname(cmh$statistic), cmh_p = cmh$p.value, q = q,
    q_p = stats::pchisq(q, max(sum(known) - 1, 1), lower.tail = FALSE), tarone = tarone[1L], tarone_p = tarone[2L]
  ))
}

# Breslow-Day test of one odds ratio in all strata, with Tarone's adjustment; expected counts by uniroot.
tarone_test <- function(k0, n0, k1, n1) {
  n <- n0 + n1
  t <- k0 + k1
  odds <- sum(k0 * (n1 - k1) / n) / sum((n0 - k0) * k1 / n)
  expected <- vapply(seq_along(n), function(h) {
    low <- max(0, t[h] - n1[h])
    high <- min(n0[h], t[h])
    if (low == high) return(low)
    fall <- function(x) log(x) + log(n1[h] - t[h] + x) - log(n0[h] - x) - log(t[h] - x) - log(odds)
    gap <- (high - low) * 1e-13
    stats::uniroot(function(x) max(-1e10, min(1e10, fall(x))), c(low + gap, high - gap), tol = 1e-13)$root
  }, 0)
  v <- 1 / (1 / expected + 1 / (n0 - expected) + 1 / (t - expected) + 1 / (n1 - t + expected))
  x <- sum((k0 - expected)^2 / v) - sum(k0 - expected)^2 / sum(v)
  c(x, stats::pchisq(x, length(n) - 1, lower.tail = FALSE))
}
