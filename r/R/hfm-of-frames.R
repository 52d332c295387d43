#' HFM of a data frame: distances between groups as sets of rows, with tests
#'
#' D of features and labels, D_f of features and predictions, HFM = D_f / D - 1, for every value of the sensitive
#' column against all others (once where there are two), and their maximum over values. Numbers are mapped to \[0,
#' 1\], categories become 0/1 columns. Tests as in [hfm_permutation_test()], adjusted by Holm over values; they
#' need all pairwise distances, and are left out above `most` rows.
#'
#' @inheritParams fs_disparate_impact
#' @param features Names of the feature columns; without `data` a data frame.
#' @param favorable_label The value of outcome and prediction that is good for the person, or
#'   `list(y_true = ..., y_pred = ...)`.
#' @param n_resamples Draws of the tests; 0 for none.
#' @param n_subsamples Subsamples of the stability range; 0 for none.
#' @param scale `"minmax"` or `"none"`.
#' @param statistic As in [set_distance()].
#' @param seed Seed of the tests.
#' @param most Largest number of rows that are tested.
#' @return A data frame with the tidy columns: metric (`"hfm_distance_labels"`, D; `"hfm_distance_predictions"`,
#'   D_f; `"hfm"`), group, reference, estimate, pvalue, pvalue_adjusted, n, stability_low, stability_high.
#' @references Bian and Luo (2024), equations 1 to 3.
#' @examples
#' people <- read.csv(system.file("extdata", "people.csv", package = "fairstats"))[1:150, ]
#' fs_hfm(people, "score", "qualified", "hired", "sex",
#'   favorable_label = list(y_true = "yes", y_pred = 1), n_resamples = 99, n_subsamples = 20
#' )
#' @export
fs_hfm <- function(data = NULL, features, y_true, y_pred, sensitive_features, favorable_label = 1, n_resamples = 199,
                   n_subsamples = 50, scale = "minmax", statistic = "max", seed = 1, most = 2000) {
  if (!scale %in% c("minmax", "none")) stop_argument("scale", listed(scale), '"minmax" or "none"')
  input <- read_columns(data, y_true, y_pred, NULL, sensitive_features, favorable_label)
  columns <- feature_columns(data, features, input$n)
  grouping <- make_groups(input$attributes)
  found <- with_seed(seed, hfm_rows(columns, input, grouping, n_resamples, n_subsamples, scale, statistic, most))
  found <- cbind(section = "hfm", sensitive_features = paste(names(input$attributes), collapse = INTERSECTION), found)
  class(found) <- c("fairstats_audit", "data.frame")
  found
}

feature_columns <- function(data, features, n) {
  columns <- if (is.null(data)) {
    as.list(features)
  } else {
    lapply(stats::setNames(features, features), function(name) column_of(data, name, "features"))
  }
  for (name in names(columns)) {
    x <- columns[[name]]
    if (length(x) != n) stop_argument("features", paste(length(x), "values of", name), paste(n, "values"))
    if (anyNA(x) || (is.numeric(x) && any(is.infinite(x)))) {
      stop_argument("features", paste("missing or infinite values in", name), "a finite value in every row")
    }
    if (!is.numeric(x)) columns[[name]] <- label_text(x)
  }
  if (!length(columns)) stop_argument("features", "no columns", "one feature or more")
  columns
}

hfm_rows <- function(columns, input, grouping, n_resamples, n_subsamples, scale, statistic, most) {
  x <- crosscheck_rows(columns, scale)
  present <- grouping$groups[grouping$sizes > 0]
  sides <- if (length(present) == 2L) present[2L] else present
  reference <- if (length(present) == 2L) present[1L] else "all others"
  inside <- lapply(sides, function(g) grouping$labels == g)
  distances <- vapply(inside, function(rows) {
    vapply(list(input$y_true, input$y_pred), function(y) {
      z <- cbind(x, y)
      block_distance(z[rows, , drop = FALSE], z[!rows, , drop = FALSE], statistic)
    }, 0)
  }, numeric(2))
  entries <- lapply(seq_along(sides), function(k) list(group = sides[k], of = k))
  if (length(sides) > 1L) entries <- c(entries, list(list(group = "maximum over values", of = seq_along(sides))))
  tested <- n_resamples > 0 && input$n <= most
  drawn <- if (tested) hfm_draws(x, input$y_true, input$y_pred, inside, n_resamples, statistic)
  stable <- if (n_subsamples > 0 && input$n <= most) {
    hfm_subsamples(x, input$y_true, input$y_pred, inside, n_subsamples, statistic)
  }
  rows <- list()
  for (entry in entries) {
    d <- max(distances[1L, entry$of])
    d_f <- max(distances[2L, entry$of])
    observed <- c(d, d_f, harmonic_measure(d, d_f))
    for (k in 1:3) {
      row <- tidy_row(c("hfm_distance_labels", "hfm_distance_predictions", "hfm")[k], entry$group, reference,
        estimate = observed[k], n = input$n, method = paste0("exact set distances (", statistic, ")"), rate = NA_real_,
        rate_reference = NA_real_
      )
      if (tested) {
        p <- upper_share(observed[k], drawn_of(drawn, entry$of, k), FALSE)
        row$statistic <- observed[k]
        row$pvalue <- p
        row$mc_pvalue <- sqrt(2 * (p * (1 - p) + 1 / n_resamples) / n_resamples)
      }
      if (!is.null(stable)) {
        known <- drawn_of(list(permuted = stable, exchanged = stable), entry$of, k)
        known <- known[!is.na(known)]
        ends <- stats::quantile(known, c(0.05, 0.95), type = 1, names = FALSE)
        row[c("stability_low", "stability_high")] <- as.list(ends)
      }
      rows <- c(rows, list(row))
    }
  }
  found <- bind_rows(rows)
  single <- found$group != "maximum over values"
  found$pvalue_adjusted <- found$pvalue
  for (name in unique(found$metric)) {
    here <- single & found$metric == name
    found$pvalue_adjusted[here] <- adjust_pvalues(found$pvalue[here], "holm")
  }
  if (tested) found$mc_pvalue_adjusted <- length(sides) * found$mc_pvalue
  found
}

# Draws of D and D_f of every side: under permuted rows, and under exchanged labels; arrays 2 x sides x draws.
hfm_draws <- function(x, y_true, y_pred, inside, n_resamples, statistic) {
  features <- as.matrix(stats::dist(x))^2
  apart <- function(y) outer(y, y, "!=")
  plain <- list(features + apart(y_true), features + apart(y_pred))
  n <- nrow(x)
  of_sides <- function(both, order) {
    vapply(inside, function(rows) vapply(both, side_distance, 0, rows[order], statistic), numeric(2))
  }
  size <- c(2L, length(inside), n_resamples)
  permuted <- array(replicate(n_resamples, of_sides(plain, sample.int(n))), size)
  exchanged <- array(replicate(n_resamples, {
    swap <- stats::runif(n) < 0.5
    first <- ifelse(swap, y_pred, y_true)
    second <- ifelse(swap, y_true, y_pred)
    of_sides(list(features + apart(first), features + apart(second)), seq_len(n))
  }), size)
  list(permuted = permuted, exchanged = exchanged)
}

hfm_subsamples <- function(x, y_true, y_pred, inside, n_subsamples, statistic) {
  features <- as.matrix(stats::dist(x))^2
  both <- list(features + outer(y_true, y_true, "!="), features + outer(y_pred, y_pred, "!="))
  n <- nrow(x)
  size <- max(round(0.8 * n), 2)
  array(replicate(n_subsamples, {
    rows <- sample.int(n, size)
    vapply(inside, function(side) {
      chosen <- side[rows]
      if (!any(chosen) || all(chosen)) return(c(NA_real_, NA_real_))
      vapply(both, function(m) side_distance(m[rows, rows], chosen, statistic), 0)
    }, numeric(2))
  }), c(2L, length(inside), n_subsamples))
}

# Draws of D, D_f (of permuted rows) or HFM (of exchanged labels) of some sides together: maxima over the sides.
drawn_of <- function(drawn, sides, quantity) {
  largest <- function(from, which) apply(from[which, sides, , drop = FALSE], 3L, max)
  if (quantity < 3L) return(largest(drawn$permuted, quantity))
  d <- largest(drawn$exchanged, 1L)
  d_f <- largest(drawn$exchanged, 2L)
  ifelse(d == 0 & d_f == 0, 0, d_f / d - 1)
}
