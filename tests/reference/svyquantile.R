# Weighted quantiles by survey::svyquantile, of rows and of clusters: the value by Hyndman and Fan's
# seventh rule, the interval of Woodruff with limits by the beta function at 95%, and the effective
# number of rows p (1 - p) / Var p, p the weighted share up to the value. The rows are made by
# formulas.
#
#   Rscript tests/reference/svyquantile.R > tests/reference/svyquantile.json

suppressPackageStartupMessages(library(survey))
i <- 0:399
x <- qlnorm((((i * 37) %% 401) + 0.5) / 401)
w <- 0.5 + ((i * 29) %% 23) / 10
u <- ((i * 37) %% 401) %/% 16 + 30 * (i %% 2)
rows <- data.frame(x, w, u)
of <- function(ids, order) {
  design <- svydesign(ids = ids, weights = ~w, data = rows)
  found <- svyquantile(~x, design, order, interval.type = "beta", qrule = "hf7")
  here <- coef(svyquantile(~x, design, order, qrule = "math", ci = FALSE))[[1]]
  share <- svymean(as.numeric(x <= here), design)
  number <- coef(share) * (1 - coef(share)) / vcov(share)
  ends <- confint(found)
  sprintf("[%.15g, %.15g, %.15g, %.15g]", coef(found), ends[1], ends[2], number)
}
lines <- vapply(
  c(0.2, 0.5, 0.9),
  function(order) {
    sprintf(' "%g": {"rows": %s, "clusters": %s}', order, of(~1, order), of(~u, order))
  },
  ""
)
cat(sprintf('{"survey": "%s",\n%s}\n', packageVersion("survey"), paste(lines, collapse = ",\n")))
