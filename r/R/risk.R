# Discriminative risk, the share of predictions that change when every row is given another value of
# its sensitive attribute (Bian and Luo 2024, section 4.1), with the exact interval (Clopper and
# Pearson 1934, Biometrika 26, 404). Where rows were disturbed several times (a matrix, one line per
# draw), or persons have several rows, the mean of a person is one observation between 0 and 1, and
# the interval that of as many persons, however many rows they have.
discriminative_risk <- function(changed, cluster = NULL, level = 0.95) {
  changed <- if (is.matrix(changed)) changed != 0 else matrix(changed != 0, 1L)
  if (!length(changed) || anyNA(changed)) {
    stop("`changed` is empty or has missing values", call. = FALSE)
  }
  if (is.null(cluster)) {
    cluster <- seq_len(ncol(changed))
  }
  if (length(cluster) != ncol(changed)) {
    stop("`cluster` must have one entry per row", call. = FALSE)
  }
  means <- as.numeric(tapply(colMeans(changed), codes_of(cluster), mean))
  n <- length(means)
  estimate <- mean(means)
  # the sum of the means need not be whole
  changes <- estimate * n
  tail <- (1 - level) / 2
  low <- if (estimate == 0) 0 else stats::qbeta(tail, changes, n - changes + 1)
  high <- if (estimate == 1) 1 else stats::qbeta(1 - tail, changes + 1, n - changes)
  list(
    estimate = estimate,
    low = low,
    high = high,
    n = n,
    n_draws = length(changed),
    n_changed = sum(changed)
  )
}

#' Discriminative risk: how often a prediction changes with the sensitive attribute alone
#'
#' The share of predictions that change when every row is given another value of its sensitive
#' attribute, with Clopper and Pearson's interval; the mean of a person is one observation.
#'
#' @param predict A function of a data frame that gives a label to every row.
#' @param data Data frame with the sensitive columns that the model sees.
#' @param sensitive_features Name of the sensitive columns; each is disturbed by itself, and all
#'   together where there are several.
#' @param draws Other values per row, drawn evenly, or `"all"` of them.
#' @param cluster Name of a column, or vector: the person of every row.
#' @param confidence_level Level of the intervals.
#' @param seed Seed of the draws.
#'
#' @return A data frame: attribute, group ("all rows", or the value that was changed), estimate,
#'   ci_low, ci_high, n, n_draws, n_changed.
#'
#' @references Bian and Luo (2024). Does machine bring in extra bias in learning? Section 4.1.
#'
#' @examples
#' people <- data.frame(income = 1:4, sex = c("f", "m", "f", "m"))
#' fs_discriminative_risk(function(rows) rows$income + (rows$sex == "m") > 2, people, "sex")
#' @export
fs_discriminative_risk <- function(
  predict,
  data,
  sensitive_features,
  draws = 1,
  cluster = NULL,
  confidence_level = 0.95,
  seed = 1
) {
  need_arguments()
  if (!is.function(predict)) {
    stop_argument("predict", paste("a", class(predict)[1L]), "a function of a data frame")
  }
  data <- checked_frame(data)
  if (!identical(draws, "all")) {
    numbers_in(draws, "draws", 1, whole = TRUE)
  }
  numbers_in(confidence_level, "confidence_level", 0, 1, open = BOTH)
  if (!is.character(sensitive_features) || !length(sensitive_features)) {
    stop_argument("sensitive_features", listed(sensitive_features), "names of columns")
  }
  cluster <- column_of(data, cluster, "cluster")
  for (name in sensitive_features) {
    values <- unique(column_of(data, name, "sensitive_features"))
    if (anyNA(values) || length(values) < 2L) {
      stop_argument(
        "sensitive_features",
        paste0('"', name, '" with ', listed(values)),
        "a column with two values or more"
      )
    }
  }
  answer <- function(rows) {
    label <- predict(rows)
    if (length(label) == nrow(data) && !anyNA(label)) {
      return(as.character(label))
    }
    stop_argument(
      "predict",
      paste(length(label), "labels for", nrow(data), "rows"),
      "one label for every row"
    )
  }
  original <- answer(data)
  sets <- c(
    as.list(sensitive_features),
    if (length(sensitive_features) > 1L) list(sensitive_features)
  )
  as_table(with_seed(
    seed,
    bind_rows(unlist(
      lapply(sets, function(set) {
        changed <- disturbed_changes(answer, data, set, draws, original)
        values <- if (length(set) == 1L) label_text(data[[set]]) else character()
        lapply(c(NA, sort(unique(values), method = "radix")), function(group) {
          here <- if (is.na(group)) TRUE else values == group
          found <- discriminative_risk(
            changed[, here, drop = FALSE],
            cluster[here],
            confidence_level
          )
          list(
            attribute = if (length(set) == 1L) set else "all attributes",
            group = if (is.na(group)) "all rows" else group,
            estimate = found$estimate,
            ci_low = found$low,
            ci_high = found$high,
            n = found$n,
            n_draws = found$n_draws,
            n_changed = found$n_changed
          )
        })
      }),
      FALSE
    ))
  ))
}

# Whether every prediction changes: one line per draw, one column per row.
disturbed_changes <- function(answer, data, set, draws, original) {
  levels <- lapply(set, function(name) unique(data[[name]]))
  others <- lengths(levels) - 1L
  count <- if (identical(draws, "all")) {
    prod(others)
  } else if (prod(others) == 1L) {
    1L
  } else {
    as.integer(draws)
  }
  t(vapply(
    seq_len(count),
    function(b) {
      rows <- data
      place <- b - 1L
      for (k in seq_along(set)) {
        here <- match(data[[set[k]]], levels[[k]])
        step <- if (identical(draws, "all")) {
          place %% others[k] + 1L
        } else {
          1L + floor(stats::runif(nrow(data)) * others[k])
        }
        place <- place %/% others[k]
        rows[[set[k]]] <- levels[[k]][(here - 1L + step) %% length(levels[[k]]) + 1L]
      }
      answer(rows) != original
    },
    logical(nrow(data))
  ))
}
