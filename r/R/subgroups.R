# Subgroups of crossed attributes against the rest: Fisher's exact test, flags at a false discovery rate, and limits that
# hold for all of them together.

# Every subgroup that is compared, from its successes and cases and those of everybody. `critical`: quantile of the
# largest |z|. Limits of Clopper and Pearson (1934, Biometrika 26, 404-413) of both rates, recovered as by Zou and Donner
# (2008, Statistics in Medicine 27, 1693-1702).
crosscheck_subgroups <- function(successes, cases, total_successes, total_cases, adjust, critical) {
  rest <- total_cases - cases
  k_rest <- total_successes - successes
  lower <- stats::phyper(successes, total_successes, total_cases - total_successes, cases)
  upper <- stats::phyper(successes - 1, total_successes, total_cases - total_successes, cases, lower.tail = FALSE)
  p <- pmin(2 * pmin(lower, upper), 1)
  rate <- successes / cases
  rate_rest <- k_rest / rest
  tail <- stats::pnorm(-critical)
  limits <- function(k, n) {
    list(low = ifelse(k > 0, stats::qbeta(tail, k, n - k + 1), 0),
      high = ifelse(k < n, stats::qbeta(1 - tail, k + 1, n - k), 1))
  }
  own <- limits(successes, cases)
  other <- limits(k_rest, rest)
  difference <- rate - rate_rest
  data.frame(
    rate = rate, rate_reference = rate_rest, estimate = difference,
    std_error = sqrt(rate * (1 - rate) / cases + rate_rest * (1 - rate_rest) / rest),
    statistic = score_z(successes, cases, k_rest, rest, "difference", 0),
    low = pmax(difference - sqrt((rate - own$low)^2 + (other$high - rate_rest)^2), -1),
    high = pmin(difference + sqrt((own$high - rate)^2 + (rate_rest - other$low)^2), 1),
    pvalue = p, pvalue_adjusted = stats::p.adjust(p, c(fdr_by = "BY", fdr_bh = "BH")[[adjust]])
  )
}

# Quantile of the largest |z| of all subgroups where no rate differs, with its Monte Carlo error: from the covariance of
# the contrasts, cases n of the cells, `inside` (cells in rows, subgroups in columns) 1 for the cells of a subgroup.
crosscheck_subgroup_critical <- function(cases, inside, level) {
  own <- colSums(inside * cases)
  weights <- sweep(inside, 2, own, "/") - sweep(1 - inside, 2, sum(cases) - own, "/")
  max_z(crossprod(weights, cases * weights), Inf)$quantile(level)
}
