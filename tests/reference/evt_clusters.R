# Writes evt_clusters.json: extremal index and declustering of extRemes and evd.
suppressMessages({
  library(extRemes)
  library(evd)
  library(jsonlite)
})
cases <- list()
for (theta in c(1, 0.6, 0.4)) {
  set.seed(3)
  e <- 1 / rexp(400)
  x <- e
  for (i in 2:400) {
    x[i] <- max((1 - theta) * x[i - 1], theta * e[i])
  }
  x <- signif(x, 9)
  u <- signif(quantile(x, 0.9)[[1]], 8)
  own <- extremalindex(x, u, method = "intervals")
  cases[[length(cases) + 1]] <- list(
    x = x,
    u = u,
    intervals = unname(as.numeric(own)),
    intervals_evd = exi(x, u, r = 0),
    # extRemes' own decluster(method = "intervals") takes r = 1 whatever it found: the run length is passed
    declustered = as.numeric(decluster(x, u, method = "runs", r = as.numeric(own)[3])),
    runs = lapply(c(1, 4), function(r) {
      list(
        r = r,
        extRemes = unname(as.numeric(extremalindex(x, u, method = "runs", run.length = r)))[1:2],
        evd = exi(x, u, r = r),
        maxima_evd = as.numeric(clusters(x, u, r = r, cmax = TRUE, keep.names = FALSE))
      )
    })
  )
}
versions <- list(
  R = R.version.string,
  extRemes = as.character(packageVersion("extRemes")),
  evd = as.character(packageVersion("evd"))
)
write(
  toJSON(list(versions = versions, cases = cases), digits = NA, auto_unbox = TRUE),
  "evt_clusters.json"
)
