# Writes evt_shapes.json: exponential and Gumbel fits of extRemes with its likelihood-ratio test.
suppressMessages({
  library(extRemes)
  library(jsonlite)
})
set.seed(17)
careful <- list(method = "BFGS", control = list(reltol = 1e-14, maxit = 2000))
cases <- list()
for (s in c(0, 0.15, -0.25)) {
  u <- runif(120)
  y <- signif(if (s == 0) -2 * log(u) else 2 * (u^-s - 1) / s, 12)
  null <- fevd(y, threshold = 0, type = "Exponential", time.units = "years")
  free <- fevd(y, threshold = 0, type = "GP", time.units = "years", optim.args = careful)
  test <- lr.test(null, free)
  cases[[length(cases) + 1]] <- list(
    kind = "gpd",
    x = y,
    scale = null$results$par[[1]],
    nll0 = null$results$value,
    nll1 = free$results$value,
    statistic = test$statistic[[1]],
    pvalue = test$p.value[[1]]
  )
}
for (s in c(0, 0.2, -0.3)) {
  e <- rexp(80)
  z <- signif(if (s == 0) 5 - 1.5 * log(e) else 5 + 1.5 * (e^-s - 1) / s, 12)
  null <- fevd(z, type = "Gumbel", optim.args = careful)
  free <- fevd(z, type = "GEV", optim.args = careful)
  test <- lr.test(null, free)
  cases[[length(cases) + 1]] <- list(
    kind = "gev",
    x = z,
    location = null$results$par[[1]],
    scale = null$results$par[[2]],
    nll0 = null$results$value,
    nll1 = free$results$value,
    statistic = test$statistic[[1]],
    pvalue = test$p.value[[1]]
  )
}
versions <- list(R = R.version.string, extRemes = as.character(packageVersion("extRemes")))
write(
  toJSON(list(versions = versions, cases = cases), digits = NA, auto_unbox = TRUE),
  "evt_shapes.json"
)
