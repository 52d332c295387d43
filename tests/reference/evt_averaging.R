# Writes evt_averaging.json: measures of predictive performance of thresholds by threshr 1.0.8 (Northrop, Attalides & Jonathan
# 2017, equation 7), means of 16 runs of 20,000 posterior draws with their standard errors, at series of our own.
suppressMessages({
  library(threshr)
  library(jsonlite)
})
set.seed(32)
laws <- list(
  exponential = signif(rexp(400), 8),
  beta = signif(rbeta(600, 2, 3), 8),
  t5 = signif(abs(rt(800, 5)), 8)
)
cases <- lapply(laws, function(x) {
  u <- sort(signif(sort(x, decreasing = TRUE)[c(150, 80, 40, 25)] - 1e-6, 8))
  found <- sapply(1:16, function(i) ithresh(x, u, n = 20000)$pred_perf[, 1])
  list(x = x, u = u, score = rowMeans(found), error = apply(found, 1, sd) / 4)
})
write(
  toJSON(list(threshr = "1.0.8", cases = unname(cases)), digits = NA, auto_unbox = TRUE),
  "evt_averaging.json"
)
