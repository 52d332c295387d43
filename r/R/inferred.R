# Groups that nobody recorded: rates of groups from probabilities of the groups. Weighted estimates,
# sharp bounds with limits, and what rows with true groups, or a calibration sample, add.

#' Rates of groups that nobody recorded, from probabilities of the groups
#'
#' Compares a rate between groups of which each row has probabilities only, by any proxy: the
#' estimate
#' that weights by them, the smallest and the largest value that they allow, whatever the group of
#' each row is, and limits around these. Rows with a true group, drawn at random, remove the bias.
#'
#' @param data A data frame whose columns the other arguments name; or `NULL`, and they are vectors.
#' @param metric A ratio or difference of rates: `"disparate_impact"`,
#'   `"equal_opportunity_difference"`, `"equalized_odds_difference"`, ...
#' @param y_true,y_pred Outcome and prediction, two values each, as the metric needs them.
#' @param sensitive_probabilities Names of the columns of probabilities, one per group; with names
#'   of
#'   their own these are the groups, as `c(f = "prob_f", m = "prob_m")`. Without `data` a list, data
#'   frame or matrix. They sum to 1 in each row.
#' @param sensitive_features Column of true groups, missing where they are not known; or `NULL`.
#' @param calibration_sample `NULL`, or a list of true groups and of their probabilities by the same
#'   proxy (a data frame or matrix), of other people: they correct the probabilities.
#' @param reference Reference group, by default the one with the largest sum of probabilities.
#' @param sample_weight,cluster Columns of weights and of sampling units, or `NULL`: limits then are
#'   Student's, with what the smaller group's cases are worth less 1 degrees of freedom. Rows with a
#'   true group, and the calibration sample, are drawn at random of all.
#' @param comparisons `"reference"` or `"all"` pairs.
#'
#' @inheritParams fs_audit
#'
#' @return A data frame of class `fairstats_table`, one row per group and rate: `estimate`
#'   (weighted,
#'   or without bias where some rows have a true group), `set_low` and `set_high` (what is
#'   possible),
#'   `set_ci_low` and `set_ci_high` (an interval of both ends),
#'   `ci_low` and `ci_high` (of the true value), `weighted`, `regression` (ecological regression),
#'   `pvalue`, `verdict`.
#'
#' @references Chen, Kallus, Mao, Svacha, Udell (2019). Fairness under unawareness. FAT* 2019,
#'   339-348. Kallus, Mao, Zhou (2022). Assessing algorithmic fairness with unobserved protected
#'   class
#'   using data combination. Management Science 68, 1959-1981. Ji, Lei, Spector (2023).
#'   Model-agnostic
#'   covariate-assisted inference on partially identified causal effects. arXiv:2310.08115.
#'
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' set.seed(1)
#' people$prob_f <- ifelse(people$sex == "f", rbeta(nrow(people), 4, 1), rbeta(nrow(people), 1, 4))
#' people$prob_m <- 1 - people$prob_f
#' fs_inferred(people, "demographic_parity_difference", y_pred = "hired",
#'   sensitive_probabilities = c(f = "prob_f", m = "prob_m"), reference = "m")
#' @export
fs_inferred <- function(
  data = NULL,
  metric = "disparate_impact",
  y_true = NULL,
  y_pred = NULL,
  sensitive_probabilities,
  sensitive_features = NULL,
  calibration_sample = NULL,
  reference = NULL,
  pos_label = 1,
  confidence_level = 0.95,
  threshold = 0.8,
  margin = 0.1,
  comparisons = "reference",
  adjust = "holm",
  missing = "raise",
  label_values = NULL,
  sample_weight = NULL,
  cluster = NULL,
  seed = 1
) {
  need_arguments()
  what <- inferred_metric(metric)
  numbers_in(confidence_level, "confidence_level", 0.5, 1, open = BOTH)
  numbers_in(threshold, "threshold", 0, 1, open = "low")
  numbers_in(margin, "margin", 0, 1, open = BOTH)
  choice_of(comparisons, "comparisons", c("reference", "all"))
  choice_of(adjust, "adjust", c("holm", "bonferroni", "hommel", "fdr_bh", "none"))
  choice_of(missing, "missing", c("raise", "drop"))
  if (!is.null(data)) {
    data <- checked_frame(data)
  }
  shares <- probability_columns(data, sensitive_probabilities)
  rows <- inferred_rows(
    data,
    what,
    y_true,
    y_pred,
    shares,
    sensitive_features,
    pos_label,
    label_values,
    missing,
    sample_weight,
    cluster
  )
  sample <- calibration_rows(calibration_sample, colnames(shares))
  if (!is.null(sample) && !is.null(rows$group)) {
    stop_argument("calibration_sample", "a sample beside rows with true groups", "one of them")
  }
  cells <- cells_of_shares(rows$shares, sample$shares, if (is.null(rows$cluster)) 6L else 3L)
  # a cluster lies in one half
  half <- if (is.null(rows$cluster)) {
    with_seed(seed, sample.int(nrow(rows$shares))) %% 2L
  } else {
    (with_seed(seed, sample.int(max(rows$cluster))) %% 2L)[rows$cluster]
  }
  at <- reference_position(reference, colnames(shares), colSums(rows$shares))
  pairs <- pairs_of(ncol(shares), at, comparisons)
  limit <- if (what$contrast == "ratio") threshold else margin
  found <- list()
  for (k in seq_along(what$rates)) {
    outcome <- outcome_of_rate(what$rates[k], rows)
    sums <- inferred_sums(
      rows$shares,
      outcome,
      half,
      cells$own,
      weight = rows$weight,
      cluster = rows$cluster
    )
    true_sums <- if (!is.null(rows$group)) {
      inferred_sums(
        rows$shares,
        outcome,
        half,
        ifelse(is.na(rows$group), ncol(shares) + 1L, rows$group),
        ncol(shares) + 1L,
        rows$weight,
        rows$cluster
      )
    }
    calibration <- if (!is.null(sample)) errors_of_sample(sample, cells$sample)
    for (pair in pairs) {
      row <- inferred_pair(
        sums,
        pair,
        what$contrast,
        confidence_level,
        limit,
        calibration,
        true_sums
      )
      names <- data.frame(
        metric = what$rows[k],
        group = colnames(shares)[pair[1L]],
        reference = colnames(shares)[pair[2L]]
      )
      found[[length(found) + 1L]] <- cbind(names, row)
    }
  }
  table <- do.call(rbind, found)
  method <- if (adjust == "fdr_bh") "BH" else adjust
  table$pvalue_adjusted <- stats::p.adjust(table$pvalue, method)
  smallest <- pmin(table$p_below, table$p_above, table$p_inside)
  inside <- table$p_inside == smallest & table$p_below > smallest & table$p_above > smallest
  # who is shown to lie outside the fair range is shown to differ, also among the others
  over_family <- stats::p.adjust(smallest, method)
  outside <- which(!inside)
  over_family[outside] <- pmax(over_family[outside], table$pvalue_adjusted[outside])
  decided <- over_family <= 1 - confidence_level
  table$verdict <- ifelse(
    is.na(smallest),
    "insufficient evidence",
    ifelse(!decided, "undecided", ifelse(inside, "satisfied", "violated"))
  )
  table$confidence_level <- confidence_level
  head <- paste0(
    "Groups are inferred from probabilities, not recorded: ",
    listed(colnames(shares)),
    "."
  )
  with_head(as_table(table), head)
}

# A metric whose rates are successes among cases, as a ratio or difference.
inferred_metric <- function(metric) {
  what <- find_metric(metric)
  shares <- vapply(
    what$rates,
    function(rate) identical(registry("rates")[[rate]]$interval, "score"),
    NA
  )
  if (!(what$contrast %in% c("ratio", "difference")) || !length(shares) || !all(shares)) {
    stop_argument(
      "metric",
      listed(metric),
      "ratios and differences of rates that are successes among cases"
    )
  }
  what
}

# Probabilities as a matrix with the groups as names of its columns, as given.
probability_columns <- function(data, columns) {
  refuse <- function(got) {
    stop_argument(
      "sensitive_probabilities",
      got,
      "a column of probabilities for each group, which sum to 1 in each row"
    )
  }
  if (is.character(columns) && !is.null(data)) {
    groups <- if (is.null(names(columns))) columns else names(columns)
    found <- lapply(columns, function(name) column_of(data, name, "sensitive_probabilities"))
    shares <- do.call(cbind, found)
    colnames(shares) <- groups
  } else {
    if (!is.list(columns) && !is.matrix(columns)) {
      refuse(paste("a", class(columns)[1L]))
    }
    shares <- as.matrix(as.data.frame(columns, optional = TRUE))
  }
  if (ncol(shares) < 2L || !is.numeric(shares)) {
    refuse(paste(ncol(shares), "columns"))
  }
  shares
}

checked_shares <- function(shares, argument) {
  if (any(shares < 0 | shares > 1)) {
    stop_argument(argument, "values outside 0 to 1", "probabilities from 0 to 1")
  }
  if (any(abs(rowSums(shares) - 1) > 0.02)) {
    stop_argument(
      argument,
      paste(sum(abs(rowSums(shares) - 1) > 0.02), "rows that do not sum to 1"),
      "a probability for every group, which sum to 1 in each row"
    )
  }
  shares / rowSums(shares)
}

# Outcome, prediction, probabilities and true groups (positions, NA where unknown) of the rows that
# are used.
inferred_rows <- function(
  data,
  what,
  y_true,
  y_pred,
  shares,
  groups,
  pos_label,
  label_values,
  missing,
  weight = NULL,
  cluster = NULL
) {
  needed <- c(y_true = any(what$rates != "selection_rate"), y_pred = any(what$rates != "base_rate"))
  given <- list(y_true = if (needed[["y_true"]]) y_true, y_pred = if (needed[["y_pred"]]) y_pred)
  columns <- list()
  for (name in names(given)) {
    if (needed[[name]] && is.null(given[[name]])) {
      stop_argument(name, "NULL", "a column: the metric needs it")
    }
    if (!is.null(given[[name]])) columns[[name]] <- column_of(data, given[[name]], name)
  }
  if (!is.null(weight)) {
    weight <- column_of(data, weight, "sample_weight")
  }
  if (!is.null(cluster)) {
    cluster <- known_values(column_of(data, cluster, "cluster"))
  }
  group <- NULL
  if (!is.null(groups)) {
    text <- label_text(known_values(column_of(data, groups, "sensitive_features")))
    group <- match(text, colnames(shares))
    if (any(is.na(group) & !is.na(text))) {
      stop_argument(
        "sensitive_features",
        listed(unique(text[is.na(group) & !is.na(text)])),
        paste("the groups that have probabilities:", listed(colnames(shares)))
      )
    }
  }
  sizes <- c(
    lengths(columns),
    sensitive_probabilities = nrow(shares),
    sensitive_features = length(group),
    sample_weight = length(weight),
    cluster = length(cluster)
  )
  sizes <- sizes[sizes > 0L]
  if (length(unique(sizes)) > 1L) {
    stop_argument("y_pred", paste(names(sizes), sizes, collapse = ", "), "columns of one length")
  }
  may_lack <- c(columns, list(sample_weight = weight, cluster = cluster))
  may_lack <- may_lack[lengths(may_lack) > 0L]
  complete <- stats::complete.cases(shares) & !Reduce(`|`, lapply(may_lack, is.na))
  if (!all(complete) && missing == "raise") {
    stop_argument(
      "missing",
      paste(sum(!complete), "rows with a missing value"),
      'none, or missing = "drop"'
    )
  }
  coded <- lapply(stats::setNames(nm = names(columns)), function(name) {
    others <- lapply(columns[names(columns) != name], function(x) unique(label_text(x)))
    favorable_codes(
      columns[[name]][complete],
      favorable_of(pos_label, name),
      name,
      label_values_of(label_values, name),
      others
    )
  })
  if (!is.null(group) && all(is.na(group[complete]))) {
    group <- NULL
  }
  list(
    y_true = coded$y_true,
    y_pred = coded$y_pred,
    group = group[complete],
    weight = even_or_scaled(weight[complete]),
    cluster = if (!is.null(cluster)) match(cluster[complete], unique(cluster[complete])),
    shares = checked_shares(shares[complete, , drop = FALSE], "sensitive_probabilities")
  )
}

# Weights over their mean; NULL where all are alike, which say nothing.
even_or_scaled <- function(weight) {
  if (is.null(weight)) {
    return(NULL)
  }
  if (!is.numeric(weight) || any(!is.finite(weight)) || any(weight < 0) || !sum(weight) > 0) {
    stop_argument(
      "sample_weight",
      "values that are no weights",
      "finite numbers, 0 or more, of which some are above 0"
    )
  }
  n <- length(weight)
  excess <- n * sum(weight^2) - sum(weight)^2
  if (excess <= max(4 * .Machine$double.eps * n, 1e-12) * sum(weight)^2) {
    return(NULL)
  }
  weight * n / sum(weight)
}

calibration_rows <- function(sample, groups) {
  if (is.null(sample)) {
    return(NULL)
  }
  if (!is.list(sample) || length(sample) != 2L) {
    stop_argument(
      "calibration_sample",
      paste("a", class(sample)[1L]),
      "a list of true groups and their probabilities"
    )
  }
  shares <- probability_columns(NULL, sample[[2L]])
  if (!setequal(colnames(shares), groups)) {
    stop_argument(
      "calibration_sample",
      listed(colnames(shares)),
      paste("the columns", listed(groups))
    )
  }
  group <- match(label_text(sample[[1L]]), groups)
  if (anyNA(group) || anyNA(shares) || length(group) != nrow(shares)) {
    stop_argument("calibration_sample", "rows without a group or a probability", "rows with both")
  }
  list(group = group, shares = checked_shares(shares[, groups, drop = FALSE], "calibration_sample"))
}

reference_position <- function(reference, groups, sizes) {
  if (is.null(reference)) {
    return(unname(which.max(sizes)))
  }
  at <- match(label_text(reference), groups)
  if (is.na(at)) {
    stop_argument("reference", listed(reference), listed(groups))
  }
  at
}

pairs_of <- function(n_groups, reference, comparisons) {
  if (comparisons == "all") {
    return(utils::combn(n_groups, 2L, function(two) rev(two), simplify = FALSE))
  }
  lapply(setdiff(seq_len(n_groups), reference), function(group) c(group, reference))
}

# 1: success of the rate, 2: failure, 3: no case.
outcome_of_rate <- function(rate, rows) {
  if (is.null(rows$y_true) || is.null(rows$y_pred)) {
    column <- if (is.null(rows$y_true)) rows$y_pred else rows$y_true
    return(ifelse(column == 1, 1L, 2L))
  }
  part <- as_metric(rate, 4L)$parts[[1L]]
  cell <- 1L +
    (rows$y_pred == 0 & rows$y_true == 1) * 2L +
    (rows$y_pred == 1 & rows$y_true == 0) +
    (rows$y_pred == 0 & rows$y_true == 0) * 3L
  ifelse(cell %in% part$success, 1L, ifelse(cell %in% part$case, 2L, 3L))
}

# Cells of rows with similar probabilities: halved at the median of the column that varies most,
# down to 100 rows, in at most 64 cells (8 of clusters); and those of a calibration sample, of which each keeps 20.
cells_of_shares <- function(shares, sample = NULL, splits = 6L) {
  least <- if (is.null(sample)) 0 else 20
  if (is.null(sample)) {
    sample <- shares[0L, , drop = FALSE]
  }
  own <- rep(1L, nrow(shares))
  of_sample <- rep(1L, nrow(sample))
  for (round in seq_len(splits)) {
    n_cells <- max(own)
    for (cell in seq_len(n_cells)) {
      rows <- which(own == cell)
      others <- which(of_sample == cell)
      values <- shares[rows, , drop = FALSE]
      spread <- apply(values, 2L, function(x) mean((x - mean(x))^2))
      column <- which.max(spread)
      cut <- cut_between(values[, column])
      if (is.null(cut)) {
        next
      }
      above <- values[, column] > cut
      above_sample <- sample[others, column] > cut
      if (
        min(sum(above), sum(!above)) < 100 || min(sum(above_sample), sum(!above_sample)) < least
      ) {
        next
      }
      own[rows[above]] <- max(own) + 1L
      of_sample[others[above_sample]] <- max(own)
    }
    if (max(own) == n_cells) break
  }
  list(own = own, sample = of_sample)
}

# The value at or below which about half of the values lie, and some above.
cut_between <- function(values) {
  values <- sort(unname(values))
  n <- length(values)
  if (values[1L] == values[n]) {
    return(NULL)
  }
  middle <- values[(n + 1L) %/% 2L]
  below <- values[values < middle]
  if (middle == values[n]) {
    return(max(below))
  }
  if (length(below) && abs(length(below) - n / 2) < abs(sum(values <= middle) - n / 2)) {
    return(max(below))
  }
  middle
}

# Rows, sums of probabilities and of their products, by cell, half and outcome: row ((cell * 2 +
# half) * 3 + outcome) of each, all counted from 0. Each row times its weight; `squares`: the same
# with squared weights; `units`: the sums of probabilities of every cluster (a row) by place and
# group.
inferred_sums <- function(
  shares,
  outcome,
  half,
  cell,
  n_cells = max(cell),
  weight = NULL,
  cluster = NULL
) {
  place <- factor(((cell - 1L) * 2L + half) * 3L + outcome, levels = seq_len(6L * n_cells))
  products <- shares[, rep(seq_len(ncol(shares)), each = ncol(shares)), drop = FALSE] *
    shares[, rep(seq_len(ncol(shares)), ncol(shares)), drop = FALSE]
  total <- function(x) {
    out <- matrix(0, 6L * n_cells, ncol(x))
    sums <- rowsum(x, as.integer(place))
    out[as.integer(rownames(sums)), ] <- sums
    out
  }
  summed <- function(w) {
    list(
      number = as.vector(total(matrix(w, ncol = 1L))),
      sums = total(unname(shares) * w),
      products = total(unname(products) * w)
    )
  }
  w <- if (is.null(weight)) rep(1, nrow(shares)) else weight
  sums <- summed(w)
  if (!is.null(weight)) {
    sums$squares <- summed(w^2)
    sums$cases <- colSums(shares[outcome < 3L, , drop = FALSE])
    sums$n_known <- sum(cell < n_cells)
  }
  if (!is.null(cluster)) {
    n_groups <- ncol(shares)
    units <- matrix(0, max(cluster), 6L * n_cells * n_groups)
    for (group in seq_len(n_groups)) {
      at <- cbind(cluster, (as.integer(place) - 1L) * n_groups + group)
      key <- (at[, 2L] - 1) * nrow(units) + at[, 1L]
      by_key <- rowsum(shares[, group] * w, key)
      units[as.numeric(rownames(by_key))] <- by_key
    }
    sums$units <- units
  }
  sums
}

# True shares less probabilities by cell of the sample, and the covariance of a row's difference.
errors_of_sample <- function(sample, cell) {
  n_groups <- ncol(sample$shares)
  errors <- diag(n_groups)[sample$group, , drop = FALSE] - sample$shares
  by_cell <- split(seq_len(nrow(errors)), cell)
  list(
    number = lengths(by_cell, use.names = FALSE),
    shift = do.call(rbind, lapply(by_cell, function(rows) colMeans(errors[rows, , drop = FALSE]))),
    covariance = lapply(by_cell, function(rows) stats::cov(errors[rows, , drop = FALSE]))
  )
}

# What a row adds, by its place in the sums: `constant`, and `slope` times its probabilities.
add_terms <- function(a, b, factor = 1) {
  list(constant = a$constant + factor * b$constant, slope = a$slope + factor * b$slope)
}
scale_term <- function(a, factor) list(constant = a$constant * factor, slope = a$slope * factor)
total_of <- function(term, sums) sum(term$constant * sums$number) + sum(term$slope * sums$sums)
# Sum of squares over rows, or over clusters; of clusters whose sums are at hand by their totals.
squares_of <- function(term, sums) {
  n_groups <- ncol(term$slope)
  # the probabilities of a row sum to 1: a constant is a slope alike for all groups
  slopes <- as.vector(t(term$slope + term$constant))
  if (!is.null(sums$units)) {
    return(sum((sums$units %*% slopes)^2))
  }
  if (!is.null(sums$scatter)) {
    half <- rep(((seq_along(sums$number) - 1L) %/% 3L) %% 2L, each = n_groups)
    return(sum(vapply(
      1:2,
      function(k) {
        own <- slopes[half == k - 1L]
        sum(own * (sums$scatter[[k]] %*% own))
      },
      0
    )))
  }
  if (!is.null(sums$squares)) {
    sums <- sums$squares
  }
  products <- term$slope[, rep(seq_len(n_groups), each = n_groups)] *
    term$slope[, rep(seq_len(n_groups), n_groups)]
  sum(term$constant^2 * sums$number) +
    2 * sum(term$constant * term$slope * sums$sums) +
    sum(products * sums$products)
}

# How many rows, or clusters, of one weight a total is worth.
worth_of <- function(term, sums) {
  squares <- squares_of(term, sums)
  if (squares > 0) total_of(term, sums)^2 / squares else 0
}
# 1 for the rows at these places.
counting_term <- function(here, sums) {
  list(constant = here + 0, slope = matrix(0, length(sums$number), ncol(sums$sums)))
}
has_design <- function(sums) {
  !is.null(sums$units) || !is.null(sums$scatter) || !is.null(sums$squares)
}

# What the share of an outcome in the half of a cell is worth, over the weight of its rows.
worth_of_rows <- function(sums, here, is_outcome) {
  weight <- sum(sums$number[here])
  if (!has_design(sums)) {
    return(1)
  }
  if (!weight > 0) {
    return(0)
  }
  share <- sum(sums$number[here & is_outcome]) / weight
  units <- worth_of(counting_term(here, sums), sums)
  if (share <= 0 || share >= 1) {
    return(units / weight)
  }
  clustered <- !is.null(sums$units) || !is.null(sums$scatter)
  most <- if (is.null(sums$squares)) weight else weight^2 / sum(sums$squares$number[here])
  residual <- counting_term(here, sums)
  residual$constant <- here * (is_outcome - share)
  worth <- share * (1 - share) * weight^2 / squares_of(residual, sums)
  min(max(worth, if (clustered) units else 0), most) / weight
}

# Weighted, smallest and largest E[1_g * outcome], as terms.
terms_of_quantity <- function(sums, group, outcome, probability) {
  n_places <- length(sums$number)
  cell <- (seq_len(n_places) - 1L) %/% 6L + 1L
  half <- ((seq_len(n_places) - 1L) %/% 3L) %% 2L
  kind <- (seq_len(n_places) - 1L) %% 3L + 1L
  worth <- outer(
    seq_len(max(cell)),
    0:1,
    Vectorize(function(k, side) {
      worth_of_rows(sums, cell == k & half == side, kind == outcome)
    })
  )
  rows <- tapply(sums$number, list(cell, half), sum) * worth + 1
  hits <- tapply(
    sums$number[kind == outcome],
    list(cell[kind == outcome], half[kind == outcome]),
    sum
  ) *
    worth +
    0.5
  share <- (hits / rows)[, 2:1, drop = FALSE]
  noise <- sqrt(2 * log(4 * nrow(rows)) * hits / rows * (1 - hits / rows) / rows)[,
    2:1,
    drop = FALSE
  ]
  takes_all <- (share + noise < probability)[cbind(cell, half + 1L)]
  must_have <- (share - noise + probability > 1)[cbind(cell, half + 1L)]
  is_outcome <- kind == outcome
  make <- function(constant, slope_of_group) {
    slope <- matrix(0, n_places, ncol(sums$sums))
    slope[, group] <- slope_of_group
    list(constant = constant + 0, slope = slope)
  }
  list(
    weighted = make(rep(0, n_places), is_outcome),
    smallest = make(must_have * (is_outcome - 1), must_have),
    largest = make(takes_all * is_outcome, !takes_all)
  )
}

# A rate N / (N + F) with the influence of every row.
inferred_rate <- function(sums, success, failure) {
  hits <- total_of(success, sums)
  cases <- hits + total_of(failure, sums)
  rate <- min(max(hits / cases, 0), 1)
  list(
    value = rate,
    influence = add_terms(scale_term(success, (1 - rate) / cases), failure, -rate / cases)
  )
}

# Difference or log ratio of two rates, with its standard error.
inferred_contrast <- function(sums, first, second, contrast, calibration = NULL) {
  value <- if (contrast == "ratio") log(first$value / second$value) else first$value - second$value
  if (!is.finite(value)) {
    return(c(value = value, error = NaN))
  }
  scale <- if (contrast == "ratio") 1 / c(first$value, second$value) else c(1, 1)
  influence <- add_terms(scale_term(first$influence, scale[1L]), second$influence, -scale[2L])
  n <- worth_of(counting_term(rep(TRUE, length(sums$number)), sums), sums)
  variance <- squares_of(influence, sums) * n / (n - 1)
  if (!is.null(calibration)) {
    cell <- (seq_along(sums$number) - 1L) %/% 6L + 1L
    weight <- rowsum(influence$slope * sums$number, cell)
    for (k in seq_len(nrow(weight))) {
      variance <- variance +
        sum(weight[k, ] * (calibration$covariance[[k]] %*% weight[k, ])) / calibration$number[k]
    }
  }
  c(value = value, error = sqrt(max(variance, 0)))
}

# E[1_g * outcome] without bias, of rows by true group (the last: unknown): expected groups of all
# rows, and what the rows with a true group correct.
audited_terms <- function(sums, group, outcome) {
  n_places <- length(sums$number)
  n_groups <- ncol(sums$sums)
  truth <- (seq_len(n_places) - 1L) %/% 6L + 1L
  half <- ((seq_len(n_places) - 1L) %/% 3L) %% 2L
  is_outcome <- (seq_len(n_places) - 1L) %% 3L + 1L == outcome
  known <- truth <= n_groups
  constant <- rep(0, n_places)
  slope <- matrix(0, n_places, n_groups)
  for (side in 0:1) {
    other <- known & is_outcome & half == 1 - side
    here <- is_outcome & half == side
    number <- sum(sums$number[other])
    line <- c(0, 1)
    if (number >= 10) {
      hits <- sum(sums$number[other & truth == group])
      x <- sum(sums$sums[other, group])
      xx <- sum(sums$products[other, (group - 1L) * n_groups + group])
      xy <- sum(sums$sums[other & truth == group, group])
      spread <- xx / number - (x / number)^2
      if (spread > 1e-6) {
        line[2L] <- (xy / number - x * hits / number^2) / spread
      }
      line[1L] <- hits / number - line[2L] * x / number
    }
    constant[here] <- line[1L]
    slope[here, group] <- line[2L]
  }
  correction <- list(
    constant = (is_outcome * (truth == group) - constant) * known,
    slope = -slope * known
  )
  list(expected = list(constant = constant, slope = slope), correction = correction)
}

audited_contrast <- function(sums, pair, contrast) {
  n <- sum(sums$number)
  known <- (seq_along(sums$number) - 1L) %/% 6L + 1L <= ncol(sums$sums)
  n_known <- sum(sums$number[known])
  rates <- lapply(pair, function(group) {
    parts <- lapply(1:2, function(outcome) audited_terms(sums, group, outcome))
    means <- vapply(
      parts,
      function(part) total_of(part$expected, sums) / n + total_of(part$correction, sums) / n_known,
      0
    )
    rate <- means[1L] / sum(means)
    weight <- c(1 - rate, -rate) / sum(means)
    joined <- function(name) {
      add_terms(scale_term(parts[[1L]][[name]], weight[1L]), parts[[2L]][[name]], weight[2L])
    }
    list(
      value = rate,
      means = means,
      expected = joined("expected"),
      correction = joined("correction")
    )
  })
  values <- vapply(rates, `[[`, 0, "value")
  value <- if (contrast == "ratio") {
    suppressWarnings(log(values[1L] / values[2L]))
  } else {
    values[1L] - values[2L]
  }
  if (!is.finite(value) || any(vapply(rates, function(rate) min(rate$means), 0) < 0)) {
    return(list(value = c(value = value, error = NaN), rates = values))
  }
  scale <- if (contrast == "ratio") 1 / values else c(1, 1)
  joined <- function(name) {
    add_terms(scale_term(rates[[1L]][[name]], scale[1L]), rates[[2L]][[name]], -scale[2L])
  }
  expected <- joined("expected")
  correction <- joined("correction")
  expected$constant <- expected$constant - total_of(expected, sums) / n
  correction$constant <- correction$constant - known * total_of(correction, sums) / n_known
  influence <- add_terms(scale_term(expected, 1 / n), correction, 1 / n_known)
  units <- worth_of(counting_term(known, sums), sums)
  variance <- squares_of(influence, sums) * units / max(units - 1, 1)
  list(value = c(value = value, error = sqrt(variance)), rates = values)
}

# Everything about one pair: a data frame of one row.
inferred_pair <- function(
  sums,
  pair,
  contrast,
  level,
  limit,
  calibration = NULL,
  true_sums = NULL
) {
  n_groups <- ncol(sums$sums)
  cell <- (seq_along(sums$number) - 1L) %/% 6L + 1L
  rows <- as.vector(rowsum(sums$number, cell))
  shift <- if (is.null(calibration)) matrix(0, length(rows), n_groups) else calibration$shift
  mean_share <- rowsum(sums$sums, cell) / pmax(rows, 1) + shift
  rates <- lapply(pair, function(group) {
    probability <- pmin(pmax(mean_share[, group], 0), 1)
    shifted <- function(term) {
      term$constant <- term$constant + rowSums(term$slope * shift[cell, , drop = FALSE])
      term
    }
    parts <- lapply(1:2, function(outcome) {
      lapply(terms_of_quantity(sums, group, outcome, probability), shifted)
    })
    list(
      weighted = inferred_rate(sums, parts[[1L]]$weighted, parts[[2L]]$weighted),
      smallest = inferred_rate(sums, parts[[1L]]$smallest, parts[[2L]]$largest),
      largest = inferred_rate(sums, parts[[1L]]$largest, parts[[2L]]$smallest)
    )
  })
  of <- function(first, second) {
    inferred_contrast(sums, rates[[1L]][[first]], rates[[2L]][[second]], contrast, calibration)
  }
  weighted <- of("weighted", "weighted")
  low <- of("smallest", "largest")
  high <- of("largest", "smallest")
  is_case <- (seq_along(sums$number) - 1L) %% 3L < 2L
  expected <- if (is.null(sums$cases)) colSums(sums$sums[is_case, , drop = FALSE]) else sums$cases
  effective <- vapply(
    pair,
    function(group) {
      term <- counting_term(FALSE & is_case, sums)
      term$slope[is_case, group] <- 1
      worth_of(term, sums)
    },
    0
  )
  of_outcome <- vapply(
    1:2,
    function(kind) {
      worth_of(counting_term((seq_along(sums$number) - 1L) %% 3L + 1L == kind, sums), sums)
    },
    0
  )
  enough <- min(effective) >= 20 && min(of_outcome) >= 10
  # under weights or clusters Student's, by what the smaller group's cases are worth
  df <- if (has_design(sums)) max(min(effective) - 1, 1) else Inf
  two_sided <- stats::qt((1 + level) / 2, df)
  back <- if (contrast == "ratio") exp else identity
  own <- weighted
  own_rates <- c(rates[[1L]]$weighted$value, rates[[2L]]$weighted$value)
  critical <- imbens_manski(
    distance_of_ends(low, high),
    level,
    floor(worth_of(counting_term(rep(TRUE, length(sums$number)), sums), sums)),
    df
  )
  n_audited <- 0
  ends <- list(low, high)
  if (!is.null(true_sums)) {
    audited <- audited_contrast(true_sums, pair, contrast)
    own <- audited$value
    own_rates <- audited$rates
    truth <- (seq_along(true_sums$number) - 1L) %/% 6L + 1L
    kind <- (seq_along(true_sums$number) - 1L) %% 3L + 1L
    n_audited <- sum(true_sums$number[truth <= n_groups])
    if (!is.null(true_sums$n_known)) {
      n_audited <- true_sums$n_known
    }
    worth <- function(here) worth_of(counting_term(here, true_sums), true_sums)
    by_outcome <- vapply(
      pair,
      function(group) vapply(1:2, function(k) worth(truth == group & kind == k), 0),
      numeric(2L)
    )
    enough <- min(by_outcome) >= 5 && is.finite(own[["error"]])
    df <- min(vapply(pair, function(group) worth(truth == group & kind < 3L), 0)) - 1
    critical <- stats::qt((1 + level) / 2, df)
    ends <- list(own, own)
  }
  decided <- inferred_decision(ends[[1L]], ends[[2L]], critical, contrast, level, limit, df)
  if (!enough) {
    decided[] <- NaN
  }
  # with an audit sample, and without evidence, the range has no interval of its own
  set_end <- function(end, critical) {
    if (is.null(true_sums) && enough) one_end(end, critical, contrast) else NaN
  }
  regression <- regression_rates(sums)[pair]
  error_of <- function(x) {
    if (contrast == "ratio") exp(x[["value"]]) * x[["error"]] else x[["error"]]
  }
  data.frame(
    estimate = back(own[["value"]]),
    std_error = error_of(own),
    ci_low = decided[["low"]],
    ci_high = decided[["high"]],
    statistic = decided[["statistic"]],
    pvalue = decided[["pvalue"]],
    n = round(expected[[pair[1L]]]),
    n_reference = round(expected[[pair[2L]]]),
    rate = own_rates[1L],
    rate_reference = own_rates[2L],
    set_low = back(low[["value"]]),
    set_high = back(high[["value"]]),
    set_ci_low = set_end(low, -two_sided),
    set_ci_high = set_end(high, two_sided),
    weighted = back(weighted[["value"]]),
    weighted_low = one_end(weighted, -two_sided, contrast),
    weighted_high = one_end(weighted, two_sided, contrast),
    regression = if (contrast == "ratio") {
      regression[1L] / regression[2L]
    } else {
      regression[1L] - regression[2L]
    },
    n_audited = n_audited,
    bound_low = decided[["bound_low"]],
    bound_high = decided[["bound_high"]],
    pvalue_verdict = min(decided[c("below", "above", "inside")]),
    p_below = decided[["below"]],
    p_above = decided[["above"]],
    p_inside = decided[["inside"]]
  )
}

one_end <- function(end, critical, contrast) {
  value <- end[["value"]] + critical * finite_error(end)
  if (contrast == "ratio") exp(value) else min(max(value, -1), 1)
}
finite_error <- function(end) if (is.finite(end[["error"]])) end[["error"]] else 0
distance_of_ends <- function(low, high) {
  largest <- max(finite_error(low), finite_error(high))
  distance <- high[["value"]] - low[["value"]]
  if (!largest > 0 || is.infinite(distance)) {
    return(if (distance > 0) 10 else 0)
  }
  min(max(distance / largest, 0), 10)
}

# Limits, p-value of equality and p-values of the verdict, from both ends of what is possible.
inferred_decision <- function(low, high, critical, contrast, level, limit, df) {
  fair <- fair_range(contrast, limit)
  if (contrast == "ratio") {
    fair <- log(fair)
  }
  z <- function(end, value) {
    distance <- end[["value"]] - value
    error <- finite_error(end)
    if (is.infinite(distance) || !error > 0) {
      return(if (distance == 0) 0 else sign(distance) * Inf)
    }
    distance / error
  }
  largest <- max(finite_error(low), finite_error(high))
  width <- if (largest > 0) diff(fair) / largest else Inf
  tail <- function(z, width) {
    min(1, stats::pt(-z, df) + if (is.finite(width)) stats::pt(-z - width, df) else 0)
  }
  equal <- c(tail(-z(high, 0), 0), tail(z(low, 0), 0))
  statistic <- if (low[["value"]] > 0) {
    z(low, 0)
  } else if (high[["value"]] < 0) {
    z(high, 0)
  } else {
    0
  }
  beyond <- if (is.finite(width)) one_sided_critical(width, 1 - level, df) else stats::qt(level, df)
  pvalue <- min(equal, 1)
  shows <- list(p_below = tail(-z(high, fair[1L]), width), p_above = tail(z(low, fair[2L]), width))
  shows <- beside_equality(shows, pvalue, fair)
  bounds <- c(one_end(low, -beyond, contrast), one_end(high, beyond, contrast))
  bounds <- reach_fair_range(bounds, pvalue, fair_range(contrast, limit), 1 - level)
  c(
    bound_low = bounds[1L],
    bound_high = bounds[2L],
    low = one_end(low, -critical, contrast),
    high = one_end(high, critical, contrast),
    statistic = statistic,
    pvalue = pvalue,
    below = shows$p_below,
    above = shows$p_above,
    inside = max(tail(z(low, fair[1L]), width), tail(-z(high, fair[2L]), width))
  )
}

# Ecological regression of the outcome on the probabilities, without a constant, among the cases.
regression_rates <- function(sums) {
  n_groups <- ncol(sums$sums)
  kind <- (seq_along(sums$number) - 1L) %% 3L + 1L
  products <- matrix(colSums(sums$products[kind < 3L, , drop = FALSE]), n_groups)
  successes <- colSums(sums$sums[kind == 1L, , drop = FALSE])
  smallest <- min(eigen(products, symmetric = TRUE, only.values = TRUE)$values)
  if (!sum(diag(products)) > 0 || smallest < 1e-8 * sum(diag(products))) {
    return(rep(NaN, n_groups))
  }
  within_unit(solve(products, successes))
}

# The same from sums that Python made: every pair of groups of one rate. Sums are flat, row by row.
crosscheck_inferred <- function(
  number,
  sums,
  products,
  n_groups,
  first,
  second,
  contrast,
  level,
  limit,
  sample = NULL,
  true_sums = NULL,
  design = NULL,
  true_design = NULL,
  cases = NULL,
  n_known = NULL
) {
  as_sums <- function(number, sums, products) {
    list(
      number = number,
      sums = matrix(sums, ncol = n_groups, byrow = TRUE),
      products = matrix(products, ncol = n_groups^2, byrow = TRUE)
    )
  }
  # squared weights (number, sums, products, or empty), and the clusters' scatter of both halves
  with_design <- function(sums, design) {
    if (length(design) && length(design[[1L]])) {
      sums$squares <- do.call(as_sums, unname(design[1:3]))
    }
    if (length(design) && length(design[[4L]])) {
      size <- length(sums$number) / 2 * n_groups
      both <- matrix(design[[4L]], 2L, byrow = TRUE)
      sums$scatter <- lapply(1:2, function(k) matrix(both[k, ], size, byrow = TRUE))
    }
    sums
  }
  calibration <- NULL
  if (length(sample)) {
    covariances <- matrix(sample[[3L]], ncol = n_groups^2, byrow = TRUE)
    calibration <- list(
      number = sample[[1L]],
      shift = matrix(sample[[2L]], ncol = n_groups, byrow = TRUE),
      covariance = lapply(seq_len(nrow(covariances)), function(k) {
        matrix(covariances[k, ], n_groups)
      })
    )
  }
  truth <- if (length(true_sums)) {
    with_design(do.call(as_sums, unname(true_sums)), true_design)
  }
  own <- with_design(as_sums(number, sums, products), design)
  if (length(cases)) {
    own$cases <- cases
  }
  if (length(n_known)) {
    truth$n_known <- n_known
  }
  found <- lapply(seq_along(first), function(k) {
    inferred_pair(own, c(first[k], second[k]), contrast, level, limit, calibration, truth)
  })
  as.list(do.call(rbind, found))
}

#' Draws of a posterior where groups are known by probabilities
#'
#' The confusion counts of every group, as [fs_um_draws()] has them, where groups are not recorded
#' (or
#' with errors), and labels or predictions of some rows are missing: such rows are completed within
#' every draw (data augmentation). Cells are taken to depend on the group, not on the probabilities
#' beside it, and to be missing at random given what is known of the row.
#'
#' @param data A data frame whose columns the other arguments name; or `NULL`, and they are vectors.
#' @param y_true,y_pred Outcome and prediction, two values each, `NA` where not known.
#' @param prior Dirichlet parameter of every cell.
#' @param draws Number of draws, after 500 that are left out.
#'
#' @inheritParams fs_inferred
#'
#' @return What [fs_um_draws()] gives: a list of four matrices tp, fp, fn and tn with one row per
#'   draw
#'   and one column per group, for [fs_um_metric()].
#'
#' @references McCartan, Fisher, Goldin, Ho, Imai (2024). Estimating racial disparities when race is
#' not
#'   observed. arXiv:2303.02580. Tanner, Wong (1987). The calculation of posterior distributions by
#'   data augmentation. JASA 82, 528-540.
#'
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))
#' people$prob_f <- ifelse(people$sex == "f", 0.8, 0.1)
#' people$prob_m <- 1 - people$prob_f
#' x <- fs_inferred_draws(people, "qualified", "hired", c(f = "prob_f", m = "prob_m"), draws = 200,
#'   pos_label = list(y_true = "yes", y_pred = 1)
#' )
#' mean(fs_um_metric(x, "tpr", "difference", reference = 2))
#' @export
fs_inferred_draws <- function(
  data = NULL,
  y_true,
  y_pred,
  sensitive_probabilities,
  sensitive_features = NULL,
  prior = 1,
  draws = 4000,
  pos_label = 1,
  label_values = NULL,
  seed = 1
) {
  need_arguments()
  numbers_in(draws, "draws", 100, 1e6, whole = TRUE)
  numbers_in(prior, "prior", 0, 1e6, open = "low")
  if (!is.null(data)) {
    data <- checked_frame(data)
  }
  shares <- checked_shares(
    probability_columns(data, sensitive_probabilities),
    "sensitive_probabilities"
  )
  columns <- list(
    y_true = column_of(data, y_true, "y_true"),
    y_pred = column_of(data, y_pred, "y_pred")
  )
  coded <- lapply(stats::setNames(nm = names(columns)), function(name) {
    known <- !is.na(columns[[name]])
    others <- lapply(columns[names(columns) != name], function(x) unique(label_text(x[!is.na(x)])))
    code <- rep(NA_real_, length(known))
    code[known] <- favorable_codes(
      columns[[name]][known],
      favorable_of(pos_label, name),
      name,
      label_values_of(label_values, name),
      others
    )
    code
  })
  if (length(unique(c(lengths(coded), nrow(shares)))) > 1L) {
    stop_argument("y_true", paste(lengths(coded), collapse = " and "), "columns of one length")
  }
  if (!is.null(sensitive_features)) {
    group <- match(
      label_text(column_of(data, sensitive_features, "sensitive_features")),
      colnames(shares)
    )
    known <- !is.na(group)
    shares[known, ] <- diag(ncol(shares))[group[known], ]
  }
  with_seed(seed, augmented_draws(coded$y_true, coded$y_pred, shares, prior, draws))
}

# Cells in the order tp, fp, fn, tn; every place of a row is a pair of group and cell.
augmented_draws <- function(y, p, shares, prior, draws) {
  n_groups <- ncol(shares)
  agrees <- function(known, value) is.na(known) | known == value
  cells <- cbind(
    agrees(y, 1) & agrees(p, 1),
    agrees(y, 0) & agrees(p, 1),
    agrees(y, 1) & agrees(p, 0),
    agrees(y, 0) & agrees(p, 0)
  ) +
    0
  places <- do.call(cbind, lapply(seq_len(n_groups), function(g) shares[, g] * cells))
  pi <- matrix(1 / 4, 4L, n_groups)
  out <- stats::setNames(
    replicate(
      4L,
      matrix(0, draws, n_groups, dimnames = list(NULL, colnames(shares))),
      simplify = FALSE
    ),
    c("tp", "fp", "fn", "tn")
  )
  sizes <- colSums(shares)
  for (step in seq_len(draws + 500L)) {
    weight <- places * rep(as.vector(pi), each = nrow(places))
    below <- weight
    for (k in seq_len(ncol(weight))[-1L]) {
      below[, k] <- below[, k - 1L] + weight[, k]
    }
    u <- stats::runif(nrow(below)) * below[, ncol(below)]
    chosen <- rowSums(u > below) + 1L
    counts <- matrix(tabulate(chosen, 4L * n_groups), 4L)
    pi <- matrix(stats::rgamma(length(counts), counts + prior), 4L)
    pi <- pi / rep(colSums(pi), each = 4L)
    if (step > 500L) {
      for (k in 1:4) {
        out[[k]][step - 500L, ] <- pi[k, ] * sizes
      }
    }
  }
  out
}
