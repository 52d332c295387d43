#' Adverse impact of a selection process
#'
#' Every group of each table (by sex, by race, crossed; the whole process and each of its steps) against the group with the
#' highest selection rate, or a named one: ratio with a simultaneous interval, the verdict on four fifths, and what
#' practitioners expect beside it. Applicants of a step are those who passed the one before. Who has no category is in no
#' rate of that table.
#'
#' @param data A data frame of people.
#' @param selected Columns of the decisions, one or several in the order of the steps.
#' @param score In place of `selected`: column of scores; compared are shares above the median of the whole sample.
#' @param sex,race Columns of the categories, at least one.
#' @param reference "highest", or a group: in a table without it the highest.
#' @param strata Column of jobs or years: adds the Mantel-Haenszel ratio with its tests as rows of their own.
#' @param pos_label The value of `selected` that means passed.
#' @param threshold,confidence_level As in [fs_audit()].
#' @return A data frame: by, step, metric, group, reference, n, rate, rate_reference, estimate, ci_low, ci_high, pvalue,
#'   verdict, fisher, mid_p (Fisher's two-sided p less half the probability of the table), z and z_pvalue (pooled),
#'   cohen_h, phi, shortfall (to the pooled rate), shortfall_four_fifths, one_decision, flip_flop, power (at the
#'   threshold); for strata cmh_pvalue, breslow_day_pvalue; n_unknown: people without a category or outcome.
#' @references Biddle, Morris (2011). Using Lancaster's mid-P correction to the Fisher's exact test for adverse impact
#'   analyses. Journal of Applied Psychology 96, 956-965. Equal Employment Opportunity Commission (1978). Uniform guidelines
#'   on employee selection procedures. 29 CFR 1607.
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' fs_adverse_impact(people, "hired", sex = "sex", race = "origin")[c("by", "group", "estimate", "z", "verdict")]
#' @export
fs_adverse_impact <- function(data, selected = NULL, score = NULL, sex = NULL, race = NULL, reference = "highest",
                              strata = NULL, pos_label = 1, threshold = 0.8, confidence_level = 0.95) {
  audit_options(confidence_level, threshold)
  data <- checked_frame(data)
  if (is.null(selected) == is.null(score)) stop_argument("selected, score", "both or neither", "one of the two")
  attributes <- Filter(Negate(is.null), list(sex = column_of(data, sex, "sex"), race = column_of(data, race, "race")))
  if (!length(attributes)) stop_argument("sex, race", "NULL", "a column of groups, or two")
  # the columns' own names
  named <- Filter(Negate(is.null), list(sex, race))
  names(attributes) <- ifelse(lengths(named) == 1L, vapply(named, function(x) as.character(x)[1L], ""), names(attributes))
  attributes <- lapply(attributes, label_text)
  stratum <- if (!is.null(strata)) label_text(column_of(data, strata, "strata"))
  known <- unique(unlist(c("highest", attributes, if (length(attributes) > 1L) do.call(paste, c(attributes, sep = INTERSECTION)))))
  choice_of(reference, "reference", known[!is.na(known)])
  n <- nrow(data)
  if (is.null(selected)) {
    values <- column_of(data, score, "score")
    if (!is.numeric(values)) stop_argument("score", paste("a", class(values)[1L]), "numbers")
    steps <- list(list(step = "", from = rep(TRUE, n), passed = as.numeric(values > stats::median(values, na.rm = TRUE))))
  } else {
    if (!is.character(selected) || !length(selected)) {
      stop_argument("selected", listed(selected), "names of columns, in the order of the steps")
    }
    steps <- process_steps(data, selected, pos_label, n)
  }
  sets <- c(as.list(names(attributes)), if (length(attributes) > 1L) list(names(attributes)))
  found <- lapply(steps, function(step) lapply(sets, function(set) {
    group <- do.call(paste, c(attributes[set], sep = " & "))
    absent <- Reduce(`|`, lapply(attributes[set], is.na)) | is.na(step$passed)
    use <- step$from & !absent
    rows <- impact_table(group[use], step$passed[use], stratum[use], reference, threshold, confidence_level)
    if (is.null(rows)) return(NULL)
    cbind(by = paste(set, collapse = " & "), step = step$step, rows, n_unknown = sum(step$from & absent))
  }))
  bind_frames(unlist(found, recursive = FALSE))
}

process_steps <- function(data, selected, pos_label, n) {
  from <- rep(TRUE, n)
  outcome <- rep(1, n)
  found <- list()
  for (name in selected) {
    value <- column_of(data, name, "selected")
    passed <- rep(NA_real_, n)
    passed[!is.na(value)] <- favorable_codes(value[!is.na(value)], pos_label, name)
    passed[!from] <- NA
    found <- c(found, list(list(step = name, from = from, passed = passed)))
    outcome <- ifelse(from, passed, outcome)
    from <- from & passed %in% 1
    if (!any(from)) break
  }
  if (length(selected) == 1L) return(list(list(step = "", from = rep(TRUE, n), passed = outcome)))
  c(list(list(step = "overall", from = rep(TRUE, n), passed = outcome)), found)
}

impact_table <- function(group, passed, stratum, reference, threshold, level) {
  groups <- names(sort(table(group), decreasing = TRUE))
  if (length(groups) < 2L) return(NULL)
  k <- vapply(groups, function(g) sum(passed[group == g]), 0)
  n <- vapply(groups, function(g) sum(group == g), 0)
  named <- match(reference, groups)
  j <- if (is.na(named)) which.max(k / n) else named
  every <- t(utils::combn(length(groups), 2L))
  chosen <- if (is.na(named)) nrow(every) else 0
  options <- list(confidence_level = level, threshold = threshold, adjust = "holm", chosen_among = max(chosen, 1))
  totals <- cbind(k, n - k)
  values <- cell_metric(totals, list(parts = SELECTED))
  cells <- list(totals = totals, rows = totals, scatter = NULL, units = 0)
  pairs <- cbind(setdiff(seq_along(groups), j), j)
  critical <- critical_values(list(values), cells, if (chosen) every else pairs, "ratio", if (chosen > 1) "max-z" else "none", level)
  found <- bind_rows(lapply(pairs[, 1L], function(i) {
    row <- compare_row(values, i, j, "adverse_impact", groups, "ratio", "score", options, FALSE, critical)
    c(row, impact_figures(k[i], n[i], k[j], n[j], threshold, level))
  }))
  found <- settle_rows(found, options, chosen)
  if (is.null(stratum)) return(found)
  over <- lapply(pairs[, 1L], function(i) {
    use <- group %in% groups[c(i, j)]
    cells <- table(factor(stratum[use]), factor(group[use], groups[c(i, j)]), factor(passed[use], 1:0))
    one <- crosscheck_stratified(array(as.numeric(cells), dim(cells)), 1 - (1 - level) / max(chosen, 1), threshold)
    list(
      metric = "disparate_impact_stratified", group = groups[i], reference = groups[j], estimate = one$estimate,
      std_error = one$std_error, ci_low = one$low, ci_high = one$high, statistic = one$z_equal, pvalue = one$p_equal,
      cmh_pvalue = one$cmh_p, breslow_day_pvalue = one$tarone_p
    )
  })
  bind_frames(list(found, bind_rows(over)))
}

# Data frames below each other, NA where one lacks a column.
bind_frames <- function(frames) {
  frames <- Filter(Negate(is.null), frames)
  names <- unique(unlist(lapply(frames, names)))
  do.call(rbind, lapply(frames, function(f) {
    f[setdiff(names, names(f))] <- NA
    f[names]
  }))
}

# Of several tables, as columns.
crosscheck_impact <- function(k0, n0, k1, n1, threshold, level) {
  found <- lapply(seq_along(k0), function(t) lapply(impact_figures(k0[t], n0[t], k1[t], n1[t], threshold, level), as.numeric))
  stats::setNames(lapply(names(found[[1L]]), function(name) vapply(found, `[[`, 0, name)), names(found[[1L]]))
}

# Statistics of one table, by R's own functions where it has them.
impact_figures <- function(k0, n0, k1, n1, threshold, level) {
  cells <- matrix(c(k0, n0 - k0, k1, n1 - k1), 2L)
  total <- n0 + n1
  hits <- k0 + k1
  fisher <- stats::fisher.test(cells)$p.value
  varied <- hits > 0 && hits < total
  square <- if (varied) suppressWarnings(stats::chisq.test(cells, correct = FALSE)) else list(statistic = NaN, p.value = NaN)
  z <- sign(k0 / n0 - k1 / n1) * sqrt(unname(square$statistic))
  below <- function(a, b) if (a == 0 && b == 0) NA else a * n1 < threshold * b * n0 * (1 - 1e-12)
  other <- rbind(c(k0 - 1, k1), c(k0 + 1, k1), c(k0, k1 - 1), c(k0, k1 + 1))
  other <- other[other[, 1L] >= 0 & other[, 1L] <= n0 & other[, 2L] >= 0 & other[, 2L] <= n1, , drop = FALSE]
  moved <- NA
  if (hits > 0) {
    moved <- 0
    while ((k0 + moved) / n0 < threshold * (k1 - moved) / n1 * (1 - 1e-12)) moved <- moved + 1
  }
  q <- k1 / n1
  few <- min(n0 * q * threshold, n0 * (1 - q * threshold), n1 * q, n1 * (1 - q)) < 10
  power <- if (q <= 0 || q >= 1 || threshold >= 1) NaN else if (few) {
    fs_power_ratio(q, threshold, n0, n1, alternative = "two-sided", level = level)
  } else {
    # Farrington and Manning (1990): the variances under the null and under the assumed rates
    p <- q * threshold
    spread <- sqrt(p * (1 - p) / n0 + q * (1 - q) / n1)
    under <- abs(p - q) / abs(score_z(n0 * p, n0, n1 * q, n1, "ratio", 1))
    critical <- stats::qnorm((1 + level) / 2)
    sum(stats::pnorm((c(1, -1) * (q - p) - critical * under) / spread))
  }
  list(
    fisher = fisher, mid_p = fisher - stats::dhyper(k0, hits, total - hits, n0) / 2, z = z, z_pvalue = square$p.value,
    cohen_h = 2 * asin(sqrt(k0 / n0)) - 2 * asin(sqrt(k1 / n1)), phi = z / sqrt(total),
    shortfall = n0 * hits / total - k0, shortfall_four_fifths = moved,
    one_decision = isTRUE(any(apply(other, 1L, function(o) below(o[1L], o[2L])) != below(k0, k1), na.rm = TRUE)),
    flip_flop = k0 < n0 && k1 > 0 && k0 / n0 < k1 / n1 && (k0 + 1) / n0 > (k1 - 1) / n1, power = power
  )
}
