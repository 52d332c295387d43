# A weighted quantile with its Woodruff limits, by R's survey package.
survey_quantile <- function(x, weight, unit, order, level) {
  ids <- if (is.null(unit)) ~1 else ~unit
  rows <- data.frame(x = x, weight = weight, unit = if (is.null(unit)) 0 else unit)
  design <- survey::svydesign(ids = ids, weights = ~weight, data = rows)
  found <- survey::svyquantile(
    ~x,
    design,
    order,
    alpha = 1 - level,
    interval.type = "beta",
    qrule = "hf7"
  )
  list(value = unname(stats::coef(found)), ends = as.vector(stats::confint(found)))
}

# what sourcing this file returns must have a counterpart in Python
NULL
