# Writes evt_covariates.json: fits with covariates of extRemes, and of evd for the location.
suppressMessages({
  library(extRemes)
  library(jsonlite)
})
careful <- list(method = "BFGS", control = list(reltol = 1e-15, maxit = 5000))
best <- function(...) {
  fit <- fevd(..., optim.args = careful)
  fit$results[c("par", "value", "hessian")]
}
answer <- function(found) {
  list(par = unname(found$par), nll = found$value, se = unname(sqrt(diag(solve(found$hessian)))))
}
set.seed(41)
n <- 600
age <- round(runif(n, 20, 70)) / 50
sex <- sample(c("f", "m"), n, replace = TRUE)
e <- rexp(n)
xi <- 0.1
x <- signif(exp(-0.5 + 0.6 * age + 0.3 * (sex == "m")) * expm1(xi * e) / xi, 10)
rows <- data.frame(age = age, sex = sex)
u <- 0.5
excesses <- function(...) {
  answer(best(x, data = rows, threshold = u, type = "GP", time.units = "years", ...))
}
gpd <- list(
  list(
    scale = "~ age + sex",
    shape = "~ 1",
    link = "log",
    r = excesses(scale.fun = ~ age + sex, use.phi = TRUE)
  ),
  list(
    scale = "~ age + sex",
    shape = "~ 1",
    link = "identity",
    r = excesses(scale.fun = ~ age + sex)
  ),
  list(
    scale = "~ age",
    shape = "~ sex",
    link = "log",
    r = excesses(scale.fun = ~age, shape.fun = ~sex, use.phi = TRUE)
  ),
  list(
    scale = "~ sex",
    shape = "~ 1",
    link = "log",
    r = excesses(scale.fun = ~sex, use.phi = TRUE)
  ),
  list(scale = "~ 1", shape = "~ 1", link = "log", r = excesses(use.phi = TRUE))
)
small <- fevd(
  x,
  data = rows,
  threshold = u,
  type = "GP",
  time.units = "years",
  use.phi = TRUE,
  optim.args = careful
)
large <- fevd(
  x,
  data = rows,
  threshold = u,
  type = "GP",
  time.units = "years",
  scale.fun = ~ age + sex,
  use.phi = TRUE,
  optim.args = careful
)
test <- lr.test(small, large)
year <- seq(-1, 1, length.out = 90)
z <- signif(10 + 2 * year + exp(0.2 + 0.4 * year) * (rexp(90)^-0.1 - 1) / 0.1, 10)
years <- data.frame(year = year)
maxima <- function(...) answer(best(z, data = years, type = "GEV", ...))
gev <- list(
  list(location = "~ year", scale = "~ 1", link = "identity", r = maxima(location.fun = ~year)),
  list(
    location = "~ year",
    scale = "~ year",
    link = "log",
    r = maxima(location.fun = ~year, scale.fun = ~year, use.phi = TRUE)
  ),
  list(
    location = "~ year + I(year**2)",
    scale = "~ year",
    link = "identity",
    r = maxima(location.fun = ~ year + I(year^2), scale.fun = ~year)
  )
)
trend <- evd::fgev(z, nsloc = years, control = list(reltol = 1e-15, maxit = 5000))
evd <- list(par = unname(trend$estimate), nll = trend$deviance / 2, se = unname(trend$std.err))
versions <- list(
  R = R.version.string,
  extRemes = as.character(packageVersion("extRemes")),
  evd = as.character(packageVersion("evd"))
)
out <- list(
  versions = versions,
  x = x,
  threshold = u,
  rows = as.list(rows),
  gpd = gpd,
  statistic = test$statistic[[1]],
  pvalue = test$p.value[[1]],
  z = z,
  year = year,
  gev = gev,
  evd = evd
)
write(toJSON(out, digits = NA, auto_unbox = TRUE), "evt_covariates.json")
