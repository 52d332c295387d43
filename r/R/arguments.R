# Checks of arguments: every error names the argument, what came and what is allowed.

stop_argument <- function(argument, got, allowed) {
  stop("`", argument, "`: got ", got, "; allowed: ", allowed, call. = FALSE)
}

# Finite numbers within limits: as many as `size`, NA for one or more; `open`: the ends that are
# excluded.
numbers_in <- function(x, argument, low = -Inf, high = Inf, size = 1L, whole = FALSE, open = NULL) {
  fine <- is.numeric(x) &&
    length(x) > 0L &&
    (is.na(size) || length(x) == size) &&
    all(is.finite(x)) &&
    all(x >= low & x <= high) &&
    !(whole && any(x != round(x))) &&
    !("low" %in% open && any(x == low)) &&
    !("high" %in% open && any(x == high))
  if (fine) {
    return(x)
  }
  limits <- c(
    if (is.finite(low)) paste(if ("low" %in% open) "above" else "of at least", format(low)),
    if (is.finite(high)) paste(if ("high" %in% open) "below" else "up to", format(high))
  )
  kind <- paste(if (whole) "whole" else "finite", if (size %in% 1L) "number" else "numbers")
  size <- if (size %in% 1L) {
    "a"
  } else if (!is.na(size)) {
    size
  }
  stop_argument(
    argument,
    listed(x),
    paste(c(size, kind, paste(limits, collapse = " and ")), collapse = " ")
  )
}

BOTH <- c("low", "high")

# One of several texts; where the argument is left out, the first.
choice_of <- function(x, argument, allowed) {
  if (identical(x, allowed)) {
    return(allowed[1L])
  }
  if (is.character(x) && length(x) == 1L && x %in% allowed) {
    return(x)
  }
  stop_argument(argument, listed(x), listed(dQuote(allowed, FALSE)))
}

listed <- function(x, most = 12L) {
  if (!length(x)) {
    return("nothing")
  }
  x <- if (is.atomic(x)) as.character(x) else paste("a", class(x)[1L])
  text <- paste(utils::head(x, most), collapse = ", ")
  if (length(x) > most) paste0(text, ", ...") else text
}

# The first line of a public function: an argument without default that is left out is an error of
# ours. `missing` of base R is called by its full name, since an argument may have that name.
need_arguments <- function() {
  lacking <- arguments_left_out(formals(sys.function(-1L)), parent.frame())
  refuse_left_out(lacking)
}

# Names of the formal arguments that have no default and were left out of the call.
arguments_left_out <- function(formal, frame) {
  has_no_default <- vapply(formal, function(default) identical(default, quote(expr = )), NA)
  without_default <- setdiff(names(formal)[has_no_default], "...")
  left_out <- vapply(
    without_default,
    function(name) {
      eval(as.call(list(base::missing, as.name(name))), frame)
    },
    NA
  )
  without_default[left_out]
}

refuse_left_out <- function(names) {
  if (length(names)) stop_argument(names[1L], "nothing", "a value: there is no default")
}

# One number of each row, finite and within limits.
checked_numbers <- function(x, argument, low, high) {
  if (!is.numeric(x) || is.factor(x)) {
    stop_argument(argument, paste("a", class(x)[1L]), "numbers")
  }
  if (!length(x)) {
    stop_argument(argument, "no values", "one or more")
  }
  x <- as.numeric(x)
  if (anyNA(x)) {
    stop_argument(
      argument,
      paste(sum(is.na(x)), "missing values"),
      "none: leave those rows out first"
    )
  }
  if (all(x >= low & x <= high & is.finite(x))) {
    return(x)
  }
  least <- paste("finite numbers of at least", low)
  allowed <- if (is.finite(high)) paste0("numbers in [", low, ", ", high, "]") else least
  stop_argument(argument, paste("values from", format(min(x)), "to", format(max(x))), allowed)
}

check_sample <- function(x, argument) {
  if (!is.numeric(x)) {
    stop_argument(argument, listed(x), "numbers")
  }
  if (!all(is.finite(x))) {
    stop_argument(argument, "NA or infinite values", "finite numbers")
  }
  if (length(x) < 10L) {
    stop_argument(argument, paste(length(x), "values"), "at least 10")
  }
  if (max(x) - min(x) <= 0) {
    stop_argument(argument, "values that are all equal", "values that differ")
  }
  as.numeric(x)
}

# Lists of numbers that a function returns, for print and as.data.frame.
as_numbers <- function(numbers) structure(numbers, class = "fairstats_numbers")

need_package <- function(package) {
  if (requireNamespace(package, quietly = TRUE)) {
    return(invisible(NULL))
  }
  stop(
    "the R package ",
    package,
    " is not installed: install.packages(\"",
    package,
    "\")",
    call. = FALSE
  )
}
