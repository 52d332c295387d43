# Well-known functions of R as witnesses of rates, and small twins beside them.

# Two rates by prop.test: estimates, chi square of equal rates, Wald interval of the difference.
known_prop_test <- function(k0, n0, k1, n1, level = 0.95) {
  found <- suppressWarnings(stats::prop.test(c(k0, k1), c(n0, n1), correct = FALSE, conf.level = level))
  list(
    estimate = unname(found$estimate), chisq = unname(found$statistic), pvalue = found$p.value,
    interval = as.numeric(found$conf.int)
  )
}

# The ratio of two rates and its Wald interval on the log scale, by a binomial model with log link; NULL where it
# does not converge.
known_log_binomial <- function(k0, n0, k1, n1, level = 0.95) {
  y <- cbind(c(k1, k0), c(n1 - k1, n0 - k0))
  group <- c(0, 1)
  start <- c(log(k1 / n1), log(k0 / n0) - log(k1 / n1))
  fit <- tryCatch(
    suppressWarnings(stats::glm(y ~ group, stats::binomial("log"), start = start, epsilon = 1e-14, maxit = 100)),
    error = function(e) NULL
  )
  if (is.null(fit)) return(NULL)
  s <- sqrt(diag(stats::vcov(fit)))[[2L]]
  reach <- stats::qnorm((1 + level) / 2) * s
  b <- stats::coef(fit)[[2L]]
  list(estimate = exp(b), std_error = s, low = exp(b - reach), high = exp(b + reach))
}

crosscheck_sidak <- function(p) 1 - (1 - p)^length(p)

# Unconditional exact tests of two rates (Chan 1998): tables ordered by the score statistic, the p-value the largest
# over the nuisance rate. One p-value per null value and alternative.
exact_unconditional <- function(k0, n0, k1, n1, contrast, nulls, alternatives) {
  x0 <- rep(0:n0, n1 + 1)
  x1 <- rep(0:n1, each = n0 + 1)
  found <- numeric(length(nulls))
  for (null in unique(nulls)) {
    z <- score_of_tables(x0, n0, x1, n1, contrast, null)
    for (k in which(nulls == null)) {
      found[k] <- largest_probability(z, x0 == k0 & x1 == k1, n0, n1, contrast, null, alternatives[k])
    }
  }
  found
}

largest_probability <- function(z, at, n0, n1, contrast, null, alternative) {
  observed <- z[at]
  slack <- if (is.finite(observed)) 1e-9 * max(1, abs(observed)) else 0
  extreme <- switch(alternative,
    less = z <= observed + slack, greater = z >= observed - slack,
    `two-sided` = abs(z) >= abs(observed) - slack
  )
  member <- matrix(as.numeric(extreme), n0 + 1)
  low <- if (contrast == "ratio") 0 else max(0, -null)
  high <- if (contrast == "ratio") min(1, 1 / null) else min(1, 1 - null)
  probability <- function(p) {
    p0 <- pmin(1, pmax(0, if (contrast == "ratio") p * null else p + null))
    weight <- outer(0:n0, p0, function(x, p) stats::dbinom(x, n0, p))
    colSums(weight * (member %*% outer(0:n1, p, function(x, p) stats::dbinom(x, n1, p))))
  }
  # dense near both ends, where peaks are narrow, and evenly between
  grid <- sort(unique(c(
    low + (high - low) * stats::plogis(seq(-14, 14, length.out = 169)), seq(low, high, length.out = 101)
  )))
  value <- probability(grid)
  inner <- c(-1, value, -1)
  peaks <- which(value >= inner[seq_along(value)] & value >= inner[seq_along(value) + 2L])
  best <- max(value)
  for (top in utils::head(peaks[order(value[peaks], decreasing = TRUE)], 5L)) {
    range <- grid[c(max(top - 1, 1), min(top + 1, length(grid)))]
    best <- max(best, stats::optimize(probability, range, maximum = TRUE, tol = 1e-10 * diff(range))$objective)
  }
  min(best, 1)
}

# Score statistics of many tables at once; the constrained rate of each by bisection.
score_of_tables <- function(x0, n0, x1, n1, contrast, null) {
  ratio <- contrast == "ratio"
  away <- function(distance) pmax(distance, 1e-300)
  slope <- if (ratio) {
    function(p) (x0 + x1) / away(p) - (n0 - x0) / away(1 / null - p) - (n1 - x1) / away(1 - p)
  } else {
    function(p) x0 / away(p + null) + x1 / away(p) - (n0 - x0) / away(1 - null - p) - (n1 - x1) / away(1 - p)
  }
  ends <- if (ratio) c(0, min(1, 1 / null)) else c(max(0, -null), min(1, 1 - null))
  low <- rep(ends[1L], length(x0))
  high <- rep(ends[2L], length(x0))
  for (step in seq_len(54L)) {
    middle <- (low + high) / 2
    rising <- slope(middle) > 0
    low[rising] <- middle[rising]
    high[!rising] <- middle[!rising]
  }
  p <- (low + high) / 2
  p[slope(rep(ends[1L] + 1e-13 * diff(ends), length(p))) <= 0] <- ends[1L]
  p[slope(rep(ends[2L] - 1e-13 * diff(ends), length(p))) >= 0] <- ends[2L]
  p0 <- pmin(1, pmax(0, if (ratio) null * p else p + null))
  distance <- if (ratio) x0 / n0 - null * (x1 / n1) else x0 / n0 - x1 / n1 - null
  variance <- p0 * (1 - p0) / n0 + (if (ratio) null^2 else 1) * p * (1 - p) / n1
  z <- distance / sqrt(variance)
  degenerate <- variance <= 1e-30
  z[degenerate] <- ifelse(abs(distance[degenerate]) < 1e-14, 0, sign(distance[degenerate]) * Inf)
  z
}

# A smooth function of the counts compared between two groups: delta method with symbolic derivatives.
crosscheck_smooth <- function(totals, covariance, i, j, name, contrast, level, threshold, df) {
  formula <- switch(name,
    f1 = quote(2 * tp / (2 * tp + fp + fn)),
    balanced_accuracy = quote((tp / (tp + fn) + tn / (tn + fp)) / 2),
    mcc = quote((tp * tn - fp * fn) / sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))),
    treatment_equality = quote(fn / fp),
    selection_rate = quote((tp + fp) / (tp + fp + fn + tn)), base_rate = quote((tp + fn) / (tp + fp + fn + tn)),
    accuracy = quote((tp + tn) / (tp + fp + fn + tn)), tpr = quote(tp / (tp + fn)), fnr = quote(fn / (tp + fn)),
    tnr = quote(tn / (tn + fp)), fpr = quote(fp / (tn + fp)), ppv = quote(tp / (tp + fp)), npv = quote(tn / (tn + fn))
  )
  cells <- c("tp", "fp", "fn", "tn")
  derived <- stats::deriv(formula, cells)
  at <- function(g) {
    value <- eval(derived, stats::setNames(as.list(totals[g, ]), cells))
    gradient <- numeric(length(totals))
    gradient[(g - 1) * 4 + 1:4] <- attr(value, "gradient")
    list(value = as.numeric(value), gradient = gradient)
  }
  first <- at(i)
  second <- at(j)
  ratio <- contrast == "ratio"
  by <- if (ratio) c(first$value, second$value) else c(1, 1)
  slope <- first$gradient / by[1L] - second$gradient / by[2L]
  s <- sqrt(max(0, drop(slope %*% covariance %*% slope)))
  estimate <- if (ratio) first$value / second$value else first$value - second$value
  q <- stats::qt((1 + level) / 2, df)
  ends <- if (ratio) estimate * exp(c(-1, 1) * q * s) else estimate + c(-1, 1) * q * s
  z <- function(null) if (ratio) log(estimate / null) / s else (estimate - null) / s
  list(
    value = first$value, value_reference = second$value, estimate = estimate,
    std_error = if (ratio) estimate * s else s, low = ends[1L], high = ends[2L],
    p_less = stats::pt(z(if (ratio) threshold else -threshold), df),
    p_greater = stats::pt(z(threshold), df, lower.tail = FALSE),
    p_equal = 2 * stats::pt(-abs(z(if (ratio) 1 else 0)), df)
  )
}
