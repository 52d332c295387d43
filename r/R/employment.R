# Adverse impact of a selection process: every group of each table against the group with the
# highest selection rate or a named one, the verdict on four fifths, and what practitioners expect
# beside it (Biddle, Morris 2011, Journal of Applied Psychology 96, 956-965; Uniform guidelines on
# employee selection procedures 1978, 29 CFR 1607).

#' Adverse impact of a selection process
#'
#' Every group of each table (by sex, by race, crossed; the whole process and each of its steps)
#' against the group with the highest selection rate, or a named one: ratio with a simultaneous
#' interval, the verdict on four fifths, and what practitioners expect beside it. Applicants of a
#' step are those who passed the one before. Who has no category is in no rate of that table.
#'
#' @param data A data frame of people.
#' @param selected Columns of the decisions, one or several in the order of the steps.
#' @param score In place of `selected`: column of scores; compared are shares above the median of
#'   the whole sample.
#' @param sex,race Columns of the categories, at least one.
#' @param reference "highest", or a group: in a table without it the highest.
#' @param strata Column of jobs or years: adds the ratio within strata (stratified score) with its
#'   tests as rows of their own.
#' @param pos_label The value of `selected` that means passed.
#' @param label_values Labels that may occur in `selected`, or a list of them by column: more is an
#'   error.
#' @param threshold,confidence_level As in [fs_audit()].
#' @param method `"score"`, with exact tests where few people are expected, or `"koopman"`: the
#'   score
#'   without its factor N/(N - 1) and without exact tests, for hundreds of groups.
#'
#' @return A data frame: by, step, metric, group, reference, n, rate, rate_reference, estimate,
#'   ci_low, ci_high, pvalue, verdict, fisher, mid_p (Fisher's two-sided p less half the probability
#'   of the table), z and z_pvalue (pooled), cohen_h, phi, shortfall (to the pooled rate),
#'   shortfall_four_fifths, one_decision, flip_flop, power (at the threshold); for strata
#'   cmh_pvalue, breslow_day_pvalue; n_unknown: people without a category or outcome.
#'
#' @references Biddle, Morris (2011). Using Lancaster's mid-P correction to the Fisher's exact test
#'   for adverse impact analyses. Journal of Applied Psychology 96, 956-965. Equal Employment
#'   Opportunity Commission (1978). Uniform guidelines on employee selection procedures. 29 CFR
#'   1607.
#'
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' impact <- fs_adverse_impact(people, "hired", race = "origin")
#' impact[c("by", "group", "estimate", "z", "verdict")]
#' @export
fs_adverse_impact <- function(
  data,
  selected = NULL,
  score = NULL,
  sex = NULL,
  race = NULL,
  reference = "highest",
  strata = NULL,
  pos_label = 1,
  threshold = 0.8,
  confidence_level = 0.95,
  label_values = NULL,
  method = "score"
) {
  need_arguments()
  audit_options(confidence_level, threshold)
  choice_of(method, "method", c("score", "koopman"))
  data <- checked_frame(data)
  if (is.null(selected) == is.null(score)) {
    stop_argument("selected, score", "both or neither", "one of the two")
  }
  given <- Filter(Negate(is.null), list(sex = sex, race = race))
  attributes <- Map(function(x, name) column_of(data, x, name), given, names(given))
  if (!length(given)) {
    stop_argument("sex, race", "NULL", "a column of groups, or two")
  }
  # the columns' own names
  names(attributes) <- ifelse(
    lengths(given) == 1L,
    vapply(given, function(x) as.character(x)[1L], ""),
    names(given)
  )
  attributes <- lapply(attributes, label_text)
  stratum <- if (!is.null(strata)) label_text(column_of(data, strata, "strata"))
  sets <- c(as.list(names(attributes)), if (length(attributes) > 1L) list(names(attributes)))
  groups <- lapply(sets, function(set) do.call(paste, c(attributes[set], sep = INTERSECTION)))
  known <- unlist(c("highest", attributes, if (length(attributes) > 1L) groups[3L]))
  choice_of(reference, "reference", unique(known[!is.na(known)]))
  if (is.null(selected)) {
    values <- column_of(data, score, "score")
    if (!is.numeric(values)) {
      stop_argument("score", paste("a", class(values)[1L]), "numbers")
    }
    above <- as.numeric(values > stats::median(values, na.rm = TRUE))
    steps <- list(list(step = "", from = rep(TRUE, nrow(data)), passed = above))
  } else {
    if (!is.character(selected) || !length(selected)) {
      stop_argument("selected", listed(selected), "names of columns, in the order of the steps")
    }
    steps <- process_steps(data, selected, pos_label, label_values)
  }
  found <- lapply(steps, function(step) {
    Map(
      function(set, group) {
        absent <- Reduce(`|`, lapply(attributes[set], is.na)) | is.na(step$passed)
        use <- step$from & !absent
        rows <- impact_table(
          group[use],
          step$passed[use],
          stratum[use],
          reference,
          threshold,
          confidence_level,
          method
        )
        if (!is.null(rows)) {
          cbind(
            by = paste(set, collapse = INTERSECTION),
            step = step$step,
            rows,
            n_unknown = sum(step$from & absent)
          )
        }
      },
      sets,
      groups
    )
  })
  found <- unlist(found, recursive = FALSE)
  if (any(lengths(found) > 0L)) as_table(bind_rows(found), labels_of_steps(steps))
}

# Labels that count as not selected, of every step that has several.
labels_of_steps <- function(steps) {
  found <- lapply(steps, function(step) step$labels)
  several <- length(steps) > 1L
  names(found) <- vapply(
    steps,
    function(step) if (several) paste0("selected (", step$step, ")") else "selected",
    ""
  )
  Filter(Negate(is.null), found)
}

# Of the whole process and of every step: who came to it, and who passed.
process_steps <- function(data, selected, pos_label, label_values) {
  all <- from <- rep(TRUE, nrow(data))
  outcome <- rep(1, nrow(data))
  found <- list()
  for (name in selected) {
    value <- column_of(data, name, "selected")
    passed <- rep(NA_real_, nrow(data))
    passed[!is.na(value)] <- favorable_codes(
      value[!is.na(value)],
      pos_label,
      name,
      label_values_of(label_values, name)
    )
    passed[!from] <- NA
    labels <- unfavourable_rows(value[from], value[from], pos_label)
    found <- c(found, list(list(step = name, from = from, passed = passed, labels = labels)))
    outcome <- ifelse(from, passed, outcome)
    from <- from & passed %in% 1
    if (!any(from)) break
  }
  several <- length(selected) > 1L
  if (!several) {
    return(list(utils::modifyList(found[[1L]], list(step = ""))))
  }
  c(list(list(step = "overall", from = all, passed = outcome)), found)
}

impact_table <- function(group, passed, stratum, reference, threshold, level, method = "score") {
  groups <- names(sort(table(group), decreasing = TRUE))
  if (length(groups) < 2L) {
    return(NULL)
  }
  k <- vapply(groups, function(g) sum(passed[group == g]), 0)
  n <- vapply(groups, function(g) sum(group == g), 0)
  named <- match(reference, groups)
  j <- if (is.na(named)) which.max(k / n) else named
  pairs <- cbind(setdiff(seq_along(groups), j), j)
  # of how many pairs the data chose
  family <- if (is.na(named)) t(utils::combn(length(groups), 2L)) else pairs
  chosen <- if (is.na(named)) nrow(family) else 0
  options <- list(
    confidence_level = level,
    threshold = threshold,
    adjust = "holm",
    error = sharpest_error(level, nrow(pairs), "holm", chosen)
  )
  totals <- cbind(k, n - k)
  values <- cell_metric(totals, as_metric("selection_rate", 2L))
  joint <- if (chosen > 1) "max-z" else "none"
  critical <- critical_values(
    list(values),
    list(totals = totals, units = 0),
    family,
    "ratio",
    joint,
    level
  )
  found <- settle_rows(
    bind_rows(lapply(pairs[, 1L], function(i) {
      row <- compare_row(
        values,
        i,
        j,
        "adverse_impact",
        groups,
        "ratio",
        method,
        options,
        FALSE,
        critical
      )
      c(row, impact_figures(k[i], n[i], k[j], n[j], threshold, level))
    })),
    options,
    chosen
  )
  if (is.null(stratum)) {
    return(found)
  }
  bind_rows(c(
    list(found),
    lapply(pairs[, 1L], function(i) {
      use <- group %in% groups[c(i, j)]
      cells <- stratum_cells(stratum[use], group[use], groups[c(i, j)], 2 - passed[use], 2L)
      table <- stratum_table(cells, list(success = 1L, case = 1:2), 1L, 2L)
      one <- compare_strata(list(table), "ratio", level, threshold, max(chosen, 1))
      row <- stratified_row(one, list(table), "disparate_impact", groups[i], groups[j], level)
      c(
        row[c(
          "metric",
          "group",
          "reference",
          "estimate",
          "std_error",
          "ci_low",
          "ci_high",
          "statistic",
          "pvalue"
        )],
        cmh_pvalue = one$cmh_p,
        breslow_day_pvalue = one$tarone_p
      )
    })
  ))
}

# Of several tables, as columns.
crosscheck_impact <- function(k0, n0, k1, n1, threshold, level) {
  as_columns(Map(impact_figures, k0, n0, k1, n1, threshold, level))
}

# Statistics of one table, by R's own functions where it has them.
impact_figures <- function(k0, n0, k1, n1, threshold, level) {
  cells <- matrix(c(k0, n0 - k0, k1, n1 - k1), 2L)
  total <- n0 + n1
  hits <- k0 + k1
  fisher <- stats::fisher.test(cells)$p.value
  square <- list(statistic = NaN, p.value = NaN)
  if (hits > 0 && hits < total) {
    square <- suppressWarnings(stats::chisq.test(cells, correct = FALSE))
  }
  z <- sign(k0 / n0 - k1 / n1) * sqrt(unname(square$statistic))
  below <- function(a, b) ifelse(a == 0 & b == 0, NA, a * n1 < threshold * b * n0 * (1 - 1e-12))
  other <- data.frame(a = k0 + c(-1, 1, 0, 0), b = k1 + c(0, 0, -1, 1))
  other <- other[other$a >= 0 & other$a <= n0 & other$b >= 0 & other$b <= n1, ]
  moved <- if (hits > 0) 0 else NA
  while (hits > 0 && (k0 + moved) / n0 < threshold * (k1 - moved) / n1 * (1 - 1e-12)) {
    moved <- moved + 1
  }
  q <- k1 / n1
  p <- q * threshold
  power <- if (q <= 0 || q >= 1 || threshold >= 1) {
    NaN
  } else if (min(n0 * p, n0 * (1 - p), n1 * q, n1 * (1 - q)) < 10) {
    fs_power_ratio(q, threshold, n0, n1, alternative = "two-sided", level = level)
  } else {
    formula_power(q, threshold, n0, n1, threshold, "two-sided", level)
  }
  list(
    fisher = fisher,
    mid_p = fisher - stats::dhyper(k0, hits, total - hits, n0) / 2,
    z = z,
    z_pvalue = square$p.value,
    cohen_h = 2 * asin(sqrt(k0 / n0)) - 2 * asin(sqrt(k1 / n1)),
    phi = z / sqrt(total),
    shortfall = n0 * hits / total - k0,
    shortfall_four_fifths = moved,
    one_decision = isTRUE(any(below(other$a, other$b) != below(k0, k1), na.rm = TRUE)),
    flip_flop = k0 < n0 && k1 > 0 && k0 / n0 < k1 / n1 && (k0 + 1) / n0 > (k1 - 1) / n1,
    power = power
  )
}
