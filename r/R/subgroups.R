# Subgroups of crossed attributes against the rest: Fisher's exact test, flags at a false discovery
# rate, and limits that hold for all of them together.

#' Which of many crossed subgroups is treated worse, from a data frame or vectors
#'
#' All subgroups that fix the values of up to `depth` sensitive columns, each against everybody
#' else,
#' with the search counted: flags at a false discovery rate, limits that hold for all subgroups
#' together, and a p-value of the largest difference among all that were searched. Numbers are cut
#' first, at `cuts`.
#'
#' @param data A data frame whose columns the other arguments name; or `NULL`, and they are vectors.
#'   In its place a formula with the data frame second: see [fairstats-formula].
#' @param y_true,y_pred Outcome and prediction, two values each, as the metric needs them.
#' @param sensitive_features Columns whose values make the subgroups (`attributes` in Python);
#'   without `data` a list or data frame of vectors.
#' @param metric A difference of one rate: `"demographic_parity_difference"`,
#'   `"equal_opportunity_difference"`, `"fpr_difference"`, ...
#' @param depth Most columns that a subgroup fixes.
#' @param min_rows Least rows of a subgroup; by default 1% of all, at least 20.
#' @param false_discovery_rate Of the flags: the expected share of flagged subgroups whose rate is
#'   that of the rest.
#' @param adjust `"fdr_by"` (Benjamini and Yekutieli), which holds under any dependence, or
#'   `"fdr_bh"` (Benjamini and Hochberg), which flags more.
#' @param confidence_level Of all limits together.
#' @param cuts A list with numeric sensitive columns by name: their inner cut points, or a number of
#'   groups of equal size, as `list(age = c(25, 40, 60), income = 4)`. A value at a cut lies above
#'   it.
#' @param shrinkage What the shrunken rates rest on: `"conjugate"`, a Beta prior with the moments of
#'   the rates of the subgroups of the same columns; or `"um_hierarchical"`, of which mean and
#'   concentration are integrated.
#' @param n_resamples Draws of the largest statistic.
#'
#' @inheritParams fs_audit
#'
#' @return A data frame of class `fairstats_table`, one row per subgroup, the smallest p-value
#'   first:
#'   `pvalue` of Fisher's exact test (twice the smaller tail), `ci_low` and `ci_high` of Clopper and
#'   Pearson's limits of both rates (MOVER), simultaneous; `pvalue_search`, over all subgroups;
#'   `shrunken_rate`; `flagged`. Its attribute `certificate` is the difference that no subgroup
#'   exceeds to its
#'   disadvantage, with the confidence level; `critical` is the critical value of the limits.
#'
#' @references Benjamini, Yekutieli (2001). The control of the false discovery rate in multiple
#'   testing under dependency. Annals of Statistics 29, 1165-1188. Cherian, Candes (2024).
#'   Statistical inference for fairness auditing. Journal of Machine Learning Research 25.
#'
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' found <- fs_subgroups(people, y_pred = "hired", sensitive_features = c("sex", "origin"))
#' found[1:3, c("group", "estimate", "ci_low", "ci_high", "pvalue_search", "flagged")]
#' attr(found, "certificate")
#' @export
fs_subgroups <- function(
  data = NULL,
  y_true = NULL,
  y_pred = NULL,
  sensitive_features,
  metric = "demographic_parity_difference",
  depth = 3,
  min_rows = NULL,
  false_discovery_rate = 0.05,
  adjust = "fdr_by",
  pos_label = 1,
  confidence_level = 0.95,
  missing = "raise",
  label_values = NULL,
  cuts = NULL,
  shrinkage = "conjugate",
  n_resamples = 999,
  seed = 1
) {
  arguments <- given_arguments()
  what <- one_difference(metric)
  numbers_in(depth, "depth", 1, whole = TRUE)
  numbers_in(false_discovery_rate, "false_discovery_rate", 0, 1, open = BOTH)
  choice_of(adjust, "adjust", c("fdr_by", "fdr_bh"))
  numbers_in(confidence_level, "confidence_level", 0.5, 1, open = BOTH)
  numbers_in(n_resamples, "n_resamples", 99, whole = TRUE)
  if (!is.null(min_rows)) {
    numbers_in(min_rows, "min_rows", 1, whole = TRUE)
  }
  choice_of(shrinkage, "shrinkage", c("conjugate", "um_hierarchical"))
  if (!is.null(cuts)) {
    columns <- sensitive_columns(arguments$data, arguments$sensitive_features, "allow")
    arguments$sensitive_features <- cut_columns(columns, cuts)
  }
  read <- settle_missing(arguments$data, arguments[intersect(names(arguments), COLUMNS)], missing)
  scene <- read_scene(
    read$data,
    read$y_true,
    read$y_pred,
    NULL,
    read$sensitive_features,
    NULL,
    pos_label,
    label_values = label_values,
    whole = read$whole
  )
  rate_metric(what$name, scene$input)
  crossed <- crossed_cells(scene, what$rates)
  if (is.null(min_rows)) {
    min_rows <- max(20, ceiling(sum(crossed$rows) / 100))
  }
  found <- subgroups_of(crossed, depth, min_rows)
  largest <- with_seed(seed, largest_of_subgroups(crossed, found, n_resamples))
  critical <- sort(largest)[min(ceiling(confidence_level * (n_resamples - 1)) + 1, n_resamples)]
  table <- subgroup_table(what$name, crossed, found, largest, critical, adjust, shrinkage)
  table$flagged <- table$pvalue_adjusted <= false_discovery_rate
  table$confidence_level <- confidence_level
  favourable <- registry("rates")[[what$rates]]$favourable
  certificate <- switch(
    favourable,
    higher = min(table$ci_low),
    lower = max(table$ci_high),
    max(-min(table$ci_low), max(table$ci_high))
  )
  side <- switch(favourable, higher = "below", lower = "above", "from")
  sentence <- paste0(
    sum(table$flagged),
    " of ",
    nrow(table),
    " subgroups are flagged at a false discovery rate of ",
    format(100 * false_discovery_rate),
    "%",
    sides_of_flags(table$estimate[table$flagged], favourable),
    "; with confidence ",
    format(100 * confidence_level),
    "% no subgroup of at least ",
    thousands(min_rows),
    " rows lies more than ",
    format(abs(certificate), digits = 3),
    " ",
    side,
    " the rest."
  )
  result <- as_table(table, scene$input$unfavourable)
  result <- with_head(result, c(sentence, attr(result, "head")))
  structure(
    result,
    certificate = certificate,
    critical = critical,
    critical_error = error_of_critical(largest, confidence_level)
  )
}

# Monte Carlo error of the difference of two critical values of so many draws each.
error_of_critical <- function(largest, level) {
  count <- length(largest)
  place <- level * (count - 1) + 1
  reach <- sqrt(count * level * (1 - level))
  around <- pmin(pmax(round(place + c(-1, 1) * reach), 1), count)
  sqrt(2) * diff(sort(largest)[around]) / 2
}

# Subgroups of an audit: the rows of every difference of rates that the columns allow, with the Monte
# Carlo errors of limits and p-values of the search, and a sentence on the first.
audited_subgroups <- function(asked, arguments) {
  cuts <- NULL
  if (is.list(asked)) {
    names <- names(asked)
    cuts <- Filter(Negate(is.null), asked)
  } else {
    names <- asked
  }
  known <- is.character(names) && length(names) && all(names %in% names(arguments$data))
  if (!known) {
    stop_argument(
      "subgroups",
      listed(names),
      "names of columns, or a list of columns with NULL or their cuts"
    )
  }
  metrics <- "demographic_parity_difference"
  if (!is.null(arguments$y_true) && !is.null(arguments$y_pred)) {
    metrics <- c(metrics, "equal_opportunity_difference", "fpr_difference")
  }
  found <- lapply(metrics, function(metric) {
    do.call(
      fs_subgroups,
      c(
        arguments,
        list(
          sensitive_features = names,
          metric = metric,
          cuts = if (length(cuts)) cuts
        )
      )
    )
  })
  rows <- lapply(found, function(table) {
    row <- as.data.frame(table)
    moved <- lapply(c(-1, 1), function(side) {
      crosscheck_subgroups(
        round(row$rate * row$n),
        row$n,
        round(row$rate[1L] * row$n[1L] + row$rate_reference[1L] * row$n_reference[1L]),
        row$n[1L] + row$n_reference[1L],
        "fdr_by",
        attr(table, "critical") + side * attr(table, "critical_error")
      )
    })
    row$mc_ci_low <- abs(moved[[1L]]$low - moved[[2L]]$low) / 2
    row$mc_ci_high <- abs(moved[[1L]]$high - moved[[2L]]$high) / 2
    row$mc_pvalue_search <- share_error(row$pvalue_search, 999)
    row
  })
  list(rows = bind_rows(rows), sentence = paste("Subgroups:", attr(found[[1L]], "head")[1L]))
}

# How many of the flagged subgroups lie below the rest, and how many above it: a flag alone is no
# disadvantage.
sides_of_flags <- function(differences, favourable) {
  words <- switch(
    favourable,
    higher = c("worse", "better"),
    lower = c("better", "worse"),
    c("below", "above")
  )
  numbers <- c(sum(differences < 0), sum(differences > 0))
  shown <- numbers > 0
  if (!any(shown)) {
    return("")
  }
  paste0(" (", paste(numbers[shown], words[shown], collapse = ", "), ")")
}

# The columns with the interval of each number in words; `cuts`: by name, inner cut points or a
# number of groups.
cut_columns <- function(columns, cuts) {
  fine <- is.list(cuts) &&
    length(cuts) > 0L &&
    all(names(cuts) %in% names(columns)) &&
    !is.null(names(cuts))
  if (!fine) {
    stop_argument("cuts", listed(names(cuts)), paste0("a list by ", listed(names(columns))))
  }
  for (name in names(cuts)) {
    points <- cuts[[name]]
    x <- columns[[name]]
    if (!is.numeric(x)) {
      stop_argument("cuts", paste0("cuts of '", name, "', which are no numbers"), "numeric columns")
    }
    if (
      length(points) == 1L &&
        is.numeric(points) &&
        points == round(points) &&
        points >= 2 &&
        points <= 50
    ) {
      points <- unique(stats::quantile(
        x,
        seq_len(points - 1) / points,
        na.rm = TRUE,
        names = FALSE
      ))
    }
    if (
      !is.numeric(points) ||
        !length(points) ||
        !all(is.finite(points)) ||
        is.unsorted(points, strictly = TRUE)
    ) {
      stop_argument("cuts", listed(points), "increasing numbers, or a number of groups")
    }
    ends <- sprintf("%g", points)
    between <- paste(ends[-length(ends)], "to below", ends[-1L])
    words <- c(
      paste("below", ends[1L]),
      if (length(ends) > 1L) between,
      paste(ends[length(ends)], "or more")
    )
    columns[[name]] <- ifelse(is.finite(x), words[findInterval(x, points) + 1L], NA)
  }
  columns
}

# A metric that is the difference of one rate, successes among cases.
one_difference <- function(metric) {
  what <- find_metric(metric)
  fine <- identical(what$contrast, "difference") &&
    length(what$rates) == 1L &&
    identical(registry("rates")[[what$rates]]$interval, "score")
  if (!fine) {
    stop_argument(
      "metric",
      listed(metric),
      '"equal_opportunity_difference", "fpr_difference" or another of one rate'
    )
  }
  what
}

# Of every crossed cell that has rows: the text of its attributes, rows, cases and successes.
crossed_cells <- function(scene, rate) {
  cells <- audit_cells(scene$input, scene$grouping)$totals
  part <- as_metric(rate, ncol(cells))$parts[[1L]]
  used <- rowSums(cells) > 0
  first <- match(scene$grouping$groups[used], scene$grouping$labels)
  cells <- cells[used, , drop = FALSE]
  list(
    values = lapply(scene$input$attributes, function(x) label_text(x)[first]),
    rows = rowSums(cells),
    cases = rowSums(cells[, part$case, drop = FALSE]),
    successes = rowSums(cells[, part$success, drop = FALSE])
  )
}

# The subgroups that are large enough: for every set of columns the subgroup of each cell, and which
# of them are kept.
subgroups_of <- function(crossed, depth, min_rows) {
  names <- names(crossed$values)
  sets <- unlist(
    lapply(seq_len(min(depth, length(names))), function(d) {
      utils::combn(names, d, simplify = FALSE)
    }),
    recursive = FALSE
  )
  total <- sum(crossed$cases)
  found <- lapply(sets, function(set) {
    text <- lapply(set, function(name) paste(name, "=", crossed$values[[name]]))
    code <- do.call(paste, c(unname(text), sep = INTERSECTION))
    groups <- unique(code)
    place <- match(code, groups)
    sums <- rowsum(cbind(crossed$rows, crossed$cases, crossed$successes), place)
    kept <- which(sums[, 1L] >= min_rows & sums[, 2L] > 0 & sums[, 2L] < total)
    list(
      place = place,
      kept = kept,
      depth = length(set),
      group = groups[kept],
      sums = sums[kept, , drop = FALSE],
      partition = sums
    )
  })
  found <- Filter(function(one) length(one$kept) > 0L, found)
  if (!length(found)) {
    stop_argument(
      "min_rows",
      paste0(thousands(min_rows), ", which no subgroup has beside others"),
      "the rows of at least one subgroup"
    )
  }
  found
}

# Draws of the largest |z| of all subgroups where no rate differs: a normal number of variance n for
# each cell of n cases.
largest_of_subgroups <- function(crossed, found, draws) {
  noise <- matrix(stats::rnorm(length(crossed$cases) * draws), length(crossed$cases)) *
    sqrt(crossed$cases)
  everywhere <- colSums(noise)
  largest <- numeric(draws)
  for (one in found) {
    inside <- rowsum(noise, one$place)[one$kept, , drop = FALSE]
    n <- one$sums[, 2L]
    rest <- sum(crossed$cases) - n
    z <- (inside / n - (rep(everywhere, each = length(n)) - inside) / rest) / sqrt(1 / n + 1 / rest)
    largest <- pmax(largest, apply(abs(z), 2L, max))
  }
  largest
}

# Share of draws that reach each p-value, the observed one counted; beyond all draws by Bonferroni
# where that says more.
search_pvalues <- function(pvalue, largest) {
  z <- stats::qnorm(pmax(pvalue / 2, 1e-300), lower.tail = FALSE)
  share <- (1 + vapply(z, function(one) sum(largest >= one), 0)) / (1 + length(largest))
  bonferroni <- pmin(pvalue * length(pvalue), 1)
  ifelse(share <= 1 / (1 + length(largest)) + 1e-12, pmin(share, bonferroni), share)
}

# One row of each subgroup in the order of the evidence; of equal p-values the subgroup of fewer
# columns, then by name.
subgroup_table <- function(metric, crossed, found, largest, critical, adjust, shrinkage) {
  sums <- do.call(rbind, lapply(found, `[[`, "sums"))
  group <- unlist(lapply(found, `[[`, "group"))
  columns <- rep(
    vapply(found, `[[`, 0L, "depth"),
    vapply(found, function(one) length(one$group), 0L)
  )
  total <- sum(crossed$cases)
  values <- crosscheck_subgroups(
    sums[, 3L],
    sums[, 2L],
    sum(crossed$successes),
    total,
    adjust,
    critical
  )
  table <- data.frame(
    metric = metric,
    group = group,
    reference = "the rest",
    estimate = values$estimate,
    std_error = values$std_error,
    ci_low = values$low,
    ci_high = values$high,
    statistic = values$statistic,
    pvalue = values$pvalue,
    pvalue_adjusted = values$pvalue_adjusted,
    pvalue_search = search_pvalues(values$pvalue, largest),
    n = sums[, 2L],
    n_reference = total - sums[, 2L],
    share = sums[, 1L] / sum(crossed$rows),
    rate = values$rate,
    rate_reference = values$rate_reference,
    shrunken_rate = unlist(lapply(found, function(one) {
      crosscheck_shrunken_rates(one$partition[, 3L], one$partition[, 2L], shrinkage)[one$kept]
    })),
    method = "Clopper-Pearson, MOVER, largest of all subgroups",
    stringsAsFactors = FALSE
  )
  table <- table[order(signif(table$pvalue, 10), columns, table$group, method = "radix"), ]
  rownames(table) <- NULL
  table
}

# Every subgroup that is compared, from its successes and cases and those of everybody. `critical`:
# quantile of the largest |z|. Limits of Clopper and Pearson (1934, Biometrika 26, 404-413) of both
# rates, recovered as by Zou and Donner (2008, Statistics in Medicine 27, 1693-1702).
crosscheck_subgroups <- function(successes, cases, total_successes, total_cases, adjust, critical) {
  rest <- total_cases - cases
  k_rest <- total_successes - successes
  lower <- stats::phyper(successes, total_successes, total_cases - total_successes, cases)
  upper <- stats::phyper(
    successes - 1,
    total_successes,
    total_cases - total_successes,
    cases,
    lower.tail = FALSE
  )
  p <- pmin(2 * pmin(lower, upper), 1)
  rate <- successes / cases
  rate_rest <- k_rest / rest
  tail <- stats::pnorm(-critical)
  limits <- function(k, n) {
    list(
      low = ifelse(k > 0, stats::qbeta(tail, k, n - k + 1), 0),
      high = ifelse(k < n, stats::qbeta(1 - tail, k + 1, n - k), 1)
    )
  }
  own <- limits(successes, cases)
  other <- limits(k_rest, rest)
  difference <- rate - rate_rest
  data.frame(
    rate = rate,
    rate_reference = rate_rest,
    estimate = difference,
    std_error = sqrt(rate * (1 - rate) / cases + rate_rest * (1 - rate_rest) / rest),
    statistic = score_z(successes, cases, k_rest, rest, "difference", 0),
    low = pmax(difference - sqrt((rate - own$low)^2 + (other$high - rate_rest)^2), -1),
    high = pmin(difference + sqrt((own$high - rate)^2 + (rate_rest - other$low)^2), 1),
    pvalue = p,
    pvalue_adjusted = stats::p.adjust(p, c(fdr_by = "BY", fdr_bh = "BH")[[adjust]])
  )
}

# Posterior means of the rates of one partition under a common Beta prior: with the moments of the
# rates, the variance between groups from the one-way analysis of variance; or with mean and
# concentration integrated over a rectangle.
crosscheck_shrunken_rates <- function(successes, cases, shrinkage) {
  if (shrinkage == "um_hierarchical") {
    return(um_pool(successes, cases)$mean)
  }
  total <- sum(cases)
  m <- sum(successes) / total
  within <- m * (1 - m)
  size <- total - sum(cases^2) / total
  rates <- ifelse(cases > 0, successes / cases, m)
  between <- if (size > 0) (sum(cases * (rates - m)^2) - (length(cases) - 1) * within) / size else 0
  if (between <= 0 || within <= 0) {
    return(rep(m, length(cases)))
  }
  strength <- max(within / between - 1, 0)
  (successes + m * strength) / (cases + strength)
}

# Quantile of the largest |z| of all subgroups where no rate differs, with its Monte Carlo error:
# from the covariance of the contrasts, cases n of the cells, `inside` (cells in rows, subgroups in
# columns) 1 for the cells of a subgroup.
crosscheck_subgroup_critical <- function(cases, inside, level) {
  own <- colSums(inside * cases)
  weights <- sweep(inside, 2, own, "/") - sweep(1 - inside, 2, sum(cases) - own, "/")
  max_z(crossprod(weights, cases * weights), Inf)$quantile(level)
}
