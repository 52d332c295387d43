# Plans and comparisons with the same people: power of the disparate-impact test, and the change
# between models.

#' Power and sample size of the disparate-impact test
#'
#' Exact power of the score test (Miettinen and Nurminen 1985) of a ratio: the probability of all
#' pairs of counts that it rejects. `fs_sample_size_ratio` finds the first group size that reaches
#' the wanted power, from where the formula of Farrington and Manning (1990) comes near it.
#' `"violated"` and `"satisfied"` count tables with fewer than ten of a kind by the exact
#' unconditional test, as verdicts do, where n times n_reference is at most 100,000 (the score
#' beyond).
#'
#' @param rate_reference Assumed rate of the reference, in (0, 1).
#' @param ratio Assumed true ratio; what is to be shown must be true of it.
#' @param n,n_reference Cases in the group and in the reference, whole numbers.
#' @param threshold In (0, 1]: null value of the one-sided tests, end of the fair range of verdicts.
#' @param alternative `"less"` and `"greater"`: one-sided tests against the threshold;
#'   `"two-sided"`: of a ratio of 1; `"violated"` and `"satisfied"`: that verdict on a single
#'   comparison.
#' @param level The test has size 1 - `level`.
#' @param power Wanted power.
#' @param allocation Cases in the reference per case in the group.
#'
#' @return `fs_power_ratio`: the power. `fs_sample_size_ratio`: a list with n, n_reference and the
#'   power that they reach.
#'
#' @references Farrington, Manning (1990). Test statistics and sample size formulae for comparative
#'   binomial trials with null hypothesis of non-zero risk difference or non-unity relative risk.
#'   Statistics in Medicine 9, 1447-1454.
#'
#' @examples
#' fs_power_ratio(0.5, 0.7, n = 400)
#' fs_sample_size_ratio(0.5, 0.6, power = 0.8)$n
#' @export
fs_power_ratio <- function(
  rate_reference,
  ratio,
  n,
  n_reference = n,
  threshold = 0.8,
  alternative = c("less", "greater", "two-sided", "violated", "satisfied"),
  level = 0.95
) {
  need_arguments()
  alternative <- checked_plan(rate_reference, ratio, threshold, alternative, level)
  numbers_in(n, "n", 1, whole = TRUE)
  numbers_in(n_reference, "n_reference", 1, whole = TRUE)
  planned_power(rate_reference, ratio, n, n_reference, threshold, alternative, level)
}

planned_power <- function(q, ratio, n, m, threshold, alternative, level) {
  # for every count of the reference the counts of the group that show a low or a high ratio
  likely <- stats::qbinom(c(1e-17, 1 - 1e-16), m, q) + c(-2, 2)
  k1 <- seq(max(0, likely[1L]), min(m, likely[2L]))
  shown <- plan_evidence(threshold, alternative, level)
  z <- function(k0) function(null) score_z(k0, n, k1, m, "ratio", null)
  first <- function(true) first_where(function(k0) true(z(k0)), length(k1), n)
  up_to <- stats::pbinom(first(function(z) !shown$low(z)) - 1, n, q * ratio)
  from <- stats::pbinom(first(shown$high) - 1, n, q * ratio, lower.tail = FALSE)
  chance <- switch(
    alternative,
    less = up_to,
    greater = from,
    satisfied = pmax(up_to + from - 1, 0),
    up_to + from
  )
  by_score <- sum(stats::dbinom(k1, m, q) * chance)
  if (!counts_exactly(alternative, n, m)) {
    return(by_score)
  }
  min(max(by_score + power_of_exact_tests(q, ratio, n, m, threshold, alternative, level), 0), 1)
}

# Exact tests are enumerated for group times reference up to this.
MOST_TABLES <- 1e5

counts_exactly <- function(alternative, n, m) {
  alternative %in% c("violated", "satisfied") && n * m <= MOST_TABLES
}

# What the probability of a verdict changes by where tables are judged by exact tests, those of few
# expected cases.
power_of_exact_tests <- function(q, ratio, n, m, threshold, alternative, level) {
  tables <- expand.grid(k = 0:n, j = 0:m)
  tables$chance <- stats::dbinom(tables$k, n, q * ratio) * stats::dbinom(tables$j, m, q)
  pooled <- (tables$k + tables$j) / (n + m)
  expected <- min(n, m) * pmin(pooled, 1 - pooled)
  # tables without a success of either group have no ratio, and no verdict
  tables <- tables[
    needs_exact(n, m, expected, 1 - level) & tables$chance > 1e-9 & tables$k + tables$j > 0,
  ]
  if (nrow(tables) == 0) {
    return(0)
  }
  fair <- c(threshold, 1 / threshold)
  z <- lapply(fair, function(null) score_z(tables$k, n, tables$j, m, "ratio", null))
  width <- z[[1L]] - z[[2L]]
  shows <- function(asked, null, side) {
    shown <- logical(nrow(tables))
    outside <- if (alternative == "violated") 1 / null
    shown[asked] <- exactly_shown(
      tables[asked, ],
      n,
      m,
      width[asked],
      null,
      side,
      1 - level,
      outside
    )
    shown
  }
  # a table whose ratio lies on the other side of an end cannot show that it is left
  if (alternative == "violated") {
    shown <- shows(z[[1L]] < 0, fair[1L], "less") | shows(z[[2L]] > 0, fair[2L], "greater")
  } else {
    shown <- shows(z[[1L]] > 0 & z[[2L]] < 0, fair[1L], "greater")
    shown <- shows(shown, fair[2L], "less")
  }
  score <- plan_evidence(threshold, alternative, level)
  of <- function(null) z[[match(null, fair)]]
  by_score <- if (alternative == "violated") {
    score$low(of) | score$high(of)
  } else {
    score$low(of) & score$high(of)
  }
  sum(tables$chance * (shown - by_score))
}

# Whether exact tests show a ratio below ("less") or above an end of the fair range, by table. Along
# tables with one count of the larger group p rises with the statistic, since all have the same
# nuisance rates: the tables that are shown are the first ones of such a line. As in Python
# (fairstats/numerics/rates/region.py). `other`: the opposite end of the fair range, where what is
# shown is to lie outside it: then it lies beyond that end too, and differs.
exactly_shown <- function(tables, n, m, width, null, side, error, other = NULL) {
  group_is_larger <- n > m | (n == m & (tables$k > tables$j | (tables$k == tables$j & null < 1)))
  line <- ifelse(group_is_larger, -1 - tables$k, tables$j)
  shown <- logical(nrow(tables))
  start <- 0
  for (places in split(seq_len(nrow(tables)), line)) {
    order_of_line <- order(tables$k[places], -tables$j[places], decreasing = side == "greater")
    places <- places[order_of_line]
    shows <- function(at) {
      table <- tables[places[at], ]
      p_of <- function(null, side) exact_pvalue(table$k, n, table$j, m, "ratio", null, side)
      if (!is.null(other) && p_of(1, "two-sided") > error) {
        return(FALSE)
      }
      if (identical(other, null)) {
        return(TRUE)
      }
      p <- max(p_of(null, side), if (!is.null(other)) p_of(other, side))
      p + stats::pnorm(stats::qnorm(p) - width[places[at]]) <= error
    }
    shown[places] <- leading(shows, length(places), start)
    start <- sum(shown[places])
  }
  shown
}

# Which of `size` tables are shown, about the first ones: the last of them by steps that double from
# a guess, then by halves, and two neighbours on either side one by one, since the width of the fair
# range in standard errors differs between tables.
leading <- function(shows, size, guess) {
  known <- rep(NA, size)
  answer <- function(place) {
    if (is.na(known[place])) {
      known[place] <<- shows(place)
    }
    known[place]
  }
  low <- 0
  high <- size + 1
  place <- min(max(guess, 1), size)
  step <- 1
  while (place > low && place < high) {
    if (answer(place)) {
      low <- place
      place <- place + step
    } else {
      high <- place
      place <- place - step
    }
    step <- 2 * step
  }
  while (high - low > 1) {
    middle <- (low + high) %/% 2
    if (answer(middle)) low <- middle else high <- middle
  }
  first <- seq_len(size) < high
  near <- seq_len(size)
  near <- near[near >= high - 2 & near < high + 2]
  first[near] <- vapply(near, answer, NA)
  first
}

# What shows a ratio below or above: functions of the score statistic at a null value.
plan_evidence <- function(threshold, alternative, level) {
  c <- stats::qnorm(if (alternative == "two-sided") (1 + level) / 2 else level)
  from <- if (alternative == "two-sided") 1 else threshold
  # the test of an interval hypothesis counts both directions at an end of the fair range
  both <- function(z, sign) {
    stats::pnorm(sign * z(threshold)) + stats::pnorm(sign * z(1 / threshold)) <= 1 - level
  }
  switch(
    alternative,
    violated = list(low = function(z) both(z, 1), high = function(z) both(z, -1)),
    satisfied = list(low = function(z) z(1 / threshold) <= -c, high = function(z) {
      z(threshold) >= c
    }),
    list(low = function(z) z(from) <= -c, high = function(z) z(from) >= c)
  )
}

# For each of `count` elements the first number from 0 to n at which `true` holds, n + 1 where it
# never does: by halves, or by steps that grow from a guess until they have passed it.
first_where <- function(true, count, n, guess = NULL) {
  low <- rep(-1, count)
  high <- rep(n + 1, count)
  ask <- guess
  step <- 1
  while (any(high - low > 1)) {
    if (is.null(ask) || step > n) {
      ask <- ceiling((low + high) / 2)
    }
    open <- high - low > 1
    middle <- ask
    below <- middle <= low
    middle[below] <- low[below] + 1
    above <- middle >= high
    middle[above] <- high[above] - 1
    found <- true(within_ends(middle, 0, n))
    falls <- open & found
    rises <- open & !found
    high[falls] <- middle[falls]
    low[rises] <- middle[rises]
    ask <- if (!is.null(guess)) middle + step * (1 - 2 * found)
    step <- 4 * step
  }
  high
}

# The first group size that reaches the wanted power, from where the formula of Farrington and
# Manning (1990, Statistics in Medicine 9, 1447-1454) comes near it.
#' @rdname fs_power_ratio
#' @export
fs_sample_size_ratio <- function(
  rate_reference,
  ratio,
  power = 0.8,
  allocation = 1,
  threshold = 0.8,
  alternative = c("less", "greater", "two-sided", "violated", "satisfied"),
  level = 0.95
) {
  need_arguments()
  alternative <- checked_plan(rate_reference, ratio, threshold, alternative, level)
  numbers_in(power, "power", 1 - level, 1, open = BOTH)
  numbers_in(allocation, "allocation", 0, open = "low")
  q <- rate_reference
  p <- q * ratio
  most <- 1e7 / max(allocation, 1)
  beside <- function(n) ceiling(allocation * n)
  about <- function(n, wanted) {
    formula_power(q, ratio, n, beside(n), threshold, alternative, level) >= wanted
  }
  reaches <- function(n) {
    planned_power(q, ratio, n, beside(n), threshold, alternative, level) >= power
  }
  near <- halving(function(n) about(n, power), 2, most)
  few <- min(near * c(p, 1 - p), beside(near) * c(q, 1 - q))
  n <- halving(function(n) about(n, power - 0.2 / sqrt(1 + few)), 2, most)
  step <- 1
  while (n + step < most && !reaches(n + step)) {
    step <- 2 * step
  }
  if (step >= if (counts_exactly(alternative, n, beside(n))) 20 else 500) {
    n <- halving(reaches, n, min(n + step, most))
  } else {
    while (n <= most && !reaches(n)) {
      n <- n + 1
    }
  }
  if (n > most || !reaches(n)) {
    stop_argument("ratio", listed(ratio), "what 10,000,000 cases of each group can show")
  }
  reached <- fs_power_ratio(q, ratio, n, beside(n), threshold, alternative, level)
  as_numbers(list(n = n, n_reference = beside(n), power = reached))
}

# The first whole number from low to high at which a monotone condition holds; high where it holds
# nowhere before.
halving <- function(true, low, high) {
  low + first_where(function(k) true(low + k), 1L, floor(high) - low - 1)
}

# Power by the variances under the null and the assumed rates; rates may be multiples of 1/n here.
formula_power <- function(q, ratio, n, m, threshold, alternative, level) {
  c <- stats::qnorm(if (alternative == "two-sided") (1 + level) / 2 else level)
  p <- q * ratio
  shown <- function(null, side) {
    s <- sqrt(p * (1 - p) / n + null^2 * q * (1 - q) / m)
    d <- p - null * q
    z <- score_z(n * p, n, m * q, m, "ratio", null)
    stats::pnorm((side * d - c * (if (abs(z) > 0) d / z else s)) / s)
  }
  switch(
    alternative,
    less = shown(threshold, -1),
    greater = shown(threshold, 1),
    satisfied = max(shown(threshold, 1) + shown(1 / threshold, -1) - 1, 0),
    violated = min(shown(threshold, -1) + shown(1 / threshold, 1), 1),
    min(shown(1, -1) + shown(1, 1), 1)
  )
}

checked_plan <- function(rate_reference, ratio, threshold, alternative, level) {
  alternative <- choice_of(
    alternative,
    "alternative",
    c("less", "greater", "two-sided", "violated", "satisfied")
  )
  numbers_in(level, "level", 0, 1, open = BOTH)
  numbers_in(rate_reference, "rate_reference", 0, 1, open = BOTH)
  numbers_in(threshold, "threshold", 0, 1, open = "low")
  numbers_in(ratio, "ratio", 0, 1 / rate_reference, open = BOTH)
  fine <- switch(
    alternative,
    less = ratio < threshold,
    greater = ratio > threshold,
    "two-sided" = ratio != 1,
    violated = ratio < threshold || ratio > 1 / threshold,
    satisfied = ratio > threshold && ratio < 1 / threshold
  )
  if (!fine) {
    stop_argument("ratio", listed(ratio), "a ratio of which it is true what is to be shown")
  }
  alternative
}

with_adjusted <- function(found, adjust) {
  at <- seq_len(match("pvalue", names(found)))
  cbind(found[at], pvalue_adjusted = adjust_pvalues(found$pvalue, adjust), found[-at])
}

#' The change between two models on the same people
#'
#' How a metric changes from one model to another on the same people, by the paired score test
#' within the groups, which MOVER combines; predictive values by the delta method with half a row in
#' every cell.
#'
#' @param data A data frame whose columns the other arguments name; or `NULL`, and they are vectors.
#' @param sensitive_features A sensitive column or several, which are crossed; without `data` a
#'   vector, or a list or data frame of vectors.
#' @param comparisons,reference,pos_label,label_values,confidence_level,adjust,missing As in
#'   [fs_audit()].
#' @param y_true Outcome, two values.
#' @param y_pred Predictions of all models: names of columns, best with the models' names.
#' @param metrics Metrics of rates, as in [fs_group_metric()], and "accuracy".
#' @param baseline Model that the others are compared with; default all pairs.
#'
#' @return A data frame: group, reference, estimate, std_error, ci_low, ci_high, statistic, pvalue,
#'   pvalue_adjusted, before, after, and distance, distance_low, distance_high (change of the
#'   distance from parity, on the log scale for ratios).
#'
#' @references Nam, Blackwelder (2002). Analysis of the ratio of marginal probabilities in a
#'   matched-pair setting. Statistics in Medicine 21, 689-699. Tango (1998). Equivalence test and
#'   confidence interval for the difference in proportions for the paired-sample design. Statistics
#'   in Medicine 17, 891-908.
#'
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' people$stricter <- as.numeric(people$score > 0.6)
#' fs_compare_models(people, "qualified", c(first = "hired", stricter = "stricter"), "sex",
#'   pos_label = list(y_true = "yes", y_pred = 1))
#' @export
fs_compare_models <- function(
  data = NULL,
  y_true,
  y_pred,
  sensitive_features,
  metrics = "disparate_impact",
  baseline = NULL,
  reference = NULL,
  pos_label = 1,
  confidence_level = 0.95,
  comparisons = "reference",
  adjust = "holm",
  missing = "raise",
  label_values = NULL
) {
  arguments <- given_arguments()
  audit_options(confidence_level, comparisons = comparisons, adjust = adjust)
  y_true <- arguments$y_true
  y_pred <- arguments$y_pred
  if ((!is.character(y_pred) && !is.list(y_pred)) || length(y_pred) < 2L) {
    stop_argument("y_pred", listed(y_pred), "the columns of two models or more")
  }
  if (!is.character(metrics) || !length(metrics) || anyNA(metrics)) {
    stop_argument("metrics", listed(metrics), "names of metrics")
  }
  if (is.null(y_true)) {
    stop_argument("y_true", "NULL", "the column of the outcomes")
  }
  models <- if (is.null(names(y_pred))) {
    stats::setNames(y_pred, LETTERS[seq_along(y_pred)])
  } else {
    y_pred
  }
  columns <- list(
    y_true = y_true,
    y_pred = as.list(models),
    sensitive_features = arguments$sensitive_features
  )
  read <- settle_missing(arguments$data, columns, missing)
  models <- read$y_pred
  scenes <- Map(
    function(model, whole) {
      read_scene(
        read$data,
        read$y_true,
        model,
        NULL,
        read$sensitive_features,
        reference,
        pos_label,
        comparisons,
        label_values = label_values,
        whole = list(y_true = read$whole$y_true, y_pred = whole)
      )
    },
    models,
    if (is.null(read$whole)) vector("list", length(models)) else read$whole$y_pred
  )
  scene <- scenes[[1L]]
  predicted <- lapply(scenes, function(s) s$input$y_pred)
  beside <- stats::setNames(
    lapply(scenes, function(s) s$input$unfavourable$y_pred),
    paste0("y_pred['", names(models), "']")
  )
  groups <- scene$grouping$groups
  if (!is.null(baseline)) {
    baseline <- choice_of(baseline, "baseline", names(models))
  }
  named <- names(models)
  against <- if (is.null(baseline)) {
    utils::combn(named, 2L)
  } else {
    rbind(baseline, setdiff(named, baseline))
  }
  totals <- apply(
    against,
    2L,
    function(who) {
      cell <- factor(
        paste0(scene$input$y_true, predicted[[who[1L]]], predicted[[who[2L]]]),
        PAIRED_CELLS
      )
      matrix(as.numeric(table(factor(scene$grouping$labels, groups), cell)), length(groups))
    },
    simplify = FALSE
  )
  found <- do.call(
    rbind,
    lapply(metrics, function(metric) {
      what <- if (metric == "accuracy") {
        list(rates = metric, rows = metric, contrast = "level")
      } else {
        find_metric(metric)
      }
      places <- switch(
        what$contrast,
        level = matrix(seq_along(groups)),
        gap = matrix(NA_integer_, 1L, 2L),
        scene$pairs
      )
      rates <- if (what$contrast == "gap") 1L else seq_along(what$rates)
      tasks <- expand.grid(k = seq_len(nrow(places)), r = rates, m = seq_len(ncol(against)))
      joint <- 1 - (1 - confidence_level) / nrow(tasks)
      levels <- c(confidence_level, joint, if (adjust == "none") confidence_level else joint)
      found <- bind_rows(Map(
        function(k, r, m) {
          at <- places[k, ]
          one <- if (what$contrast == "gap") {
            crosscheck_paired_gap(totals[[m]], NULL, PAIRED_CELLS, what$rates, levels)
          } else {
            crosscheck_paired(
              totals[[m]],
              NULL,
              at,
              PAIRED_CELLS,
              what$rates[r],
              what$contrast,
              levels
            )
          }
          row <- change_row(
            what$rows[r],
            groups[at[1L]],
            if (length(at) > 1L) groups[at[2L]] else "",
            one
          )
          c(
            row["metric"],
            model = against[2L, m],
            baseline = against[1L, m],
            row[-1L],
            simultaneous_low = one$joint_low,
            simultaneous_high = one$joint_high,
            one[c("statistic", "pvalue", "distance", "distance_low", "distance_high")]
          )
        },
        tasks$k,
        tasks$r,
        tasks$m
      ))
      with_adjusted(found, adjust)
    })
  )
  as_table(found, c(scene$input$unfavourable["y_true"], beside))
}
