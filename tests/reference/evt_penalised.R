# Writes evt_penalised.json: fits by the penalised likelihood of Coles and Dixon. extRemes adds what `priorFun` gives
# to the negative log-likelihood (method "GMLE"), so that the penalty makes it theirs.
suppressMessages({
  library(extRemes)
  library(jsonlite)
})
set.seed(23)
coles_dixon <- function(x, q, p) {
  shape <- x[[length(x)]]
  if (shape <= 0) {
    0
  } else if (shape >= 1) {
    1e9
  } else {
    1 / (1 - shape) - 1
  }
}
careful <- list(method = "Nelder-Mead", control = list(reltol = 1e-15, maxit = 20000))
fitted <- function(x, kind, start) {
  about <- list(
    x = x,
    method = "GMLE",
    priorFun = "coles_dixon",
    priorParams = list(q = 0, p = 0),
    initial = start,
    optim.args = careful
  )
  about <- c(
    about,
    if (kind == "gpd") {
      list(threshold = 0, type = "GP", time.units = "years")
    } else {
      list(type = "GEV")
    }
  )
  found <- do.call(fevd, about)
  list(kind = kind, x = x, estimate = unname(found$results$par), penalised = found$results$value)
}
cases <- list()
for (s in c(0.25, 0.5, 0.9)) {
  y <- signif(2 * (runif(40)^-s - 1) / s, 12)
  cases[[length(cases) + 1]] <- fitted(y, "gpd", list(scale = 2, shape = 0.2))
}
for (s in c(0.3, 0.6)) {
  z <- signif(5 + 1.5 * (rexp(30)^-s - 1) / s, 12)
  cases[[length(cases) + 1]] <- fitted(z, "gev", list(location = 5, scale = 1.5, shape = 0.2))
}
versions <- list(R = R.version.string, extRemes = as.character(packageVersion("extRemes")))
write(
  toJSON(list(versions = versions, cases = cases), digits = NA, auto_unbox = TRUE),
  "evt_penalised.json"
)
