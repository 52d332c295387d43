# Regenerates what R computes for the recorded cases, and says how far it is from the record.
#
#   Rscript r/reference/make_reference.R [cases] [output]        (default tests/reference,
#   tests/reference)
#
# Reads every case (gp_*, gev_*, pp_*, hdr1_*, hdr2_*; .json or .json.gz) of the first folder, takes
# its data, calls R anew and writes the case with the new blocks and the versions of R and of the
# packages into the second folder. Blocks that need a package which is not installed stay as they
# were. Then it runs make_rates_reference.R and make_survey_reference.R.

file <- sub("^--file=", "", grep("^--file=", commandArgs(FALSE), value = TRUE))
source(file.path(
  if (length(file)) dirname(normalizePath(file)) else file.path("r", "reference"),
  "json.R"
))
for (code in list.files(file.path(here(), "..", "R"), "[.]R$", full.names = TRUE)) {
  source(code)
}
folders <- commandArgs(TRUE)
cases <- if (length(folders) >= 1L) folders[[1L]] else file.path("tests", "reference")
output <- if (length(folders) >= 2L) folders[[2L]] else cases
has <- function(package) requireNamespace(package, quietly = TRUE)

vector <- function(x) as.numeric(unlist(x))
named <- function(x) as.list(x)
quietly <- function(code) {
  warned <- character()
  value <- tryCatch(
    withCallingHandlers(code, warning = function(w) {
      warned <<- c(warned, conditionMessage(w))
      tryInvokeRestart("muffleWarning")
    }),
    error = function(e) list(ok = FALSE, error = conditionMessage(e))
  )
  if (is.null(value$ok)) {
    value$ok <- TRUE
  }
  c(value, list(warnings = I(warned)))
}

# --- extreme values
# --------------------------------------------------------------------------------------

careful_block <- function(fit) {
  block <- list(par = named(fit$estimate), nllh = fit$nll, notes = I(fit$notes))
  if (!anyNA(fit$std_error)) {
    block <- c(block, list(se = named(fit$std_error), cov = unname(fit$covariance)))
  }
  block
}

plain_extremes <- function(fit) {
  covariance <- extRemes::parcov.fevd(fit)
  c(
    list(
      par = named(fit$results$par),
      nllh = fit$results$value,
      convergence = fit$results$convergence
    ),
    if (is.matrix(covariance)) list(se = named(sqrt(diag(covariance))), cov = unname(covariance))
  )
}

plain_evd <- function(fit) {
  list(
    par = named(fit$estimate),
    se = named(fit$std.err),
    cov = unname(fit$var.cov),
    nllh = fit$deviance / 2,
    convergence = fit$convergence
  )
}

evt_blocks <- function(case) {
  gp <- case$kind == "gp"
  if (gp) {
    u <- case$threshold
    x <- vector(case$exceedances)
    y <- x - u
    series <- c(x, rep(u - case$true$scale, case$N - case$n_exceed)) # values below the threshold do not matter
    calls <- list(
      extRemes = "fevd(x, threshold = u, type = \"GP\", time.units = \"years\")",
      evd = "fpot(x, u, npp = 1)"
    )
  } else {
    x <- vector(case$x)
    calls <- list(extRemes = "fevd(x, type = \"GEV\")", evd = "fgev(x)")
  }
  calls$extRemes_careful <- "fs_fit_gpd() or fs_fit_gev() of r/R/evt.R"
  blocks <- list(calls = calls)
  if (has("extRemes")) {
    blocks$extRemes <- quietly(plain_extremes(
      if (gp) {
        extRemes::fevd(series, threshold = u, type = "GP", time.units = "years")
      } else {
        extRemes::fevd(x, type = "GEV")
      }
    ))
    blocks$extRemes_careful <- quietly(careful_block(if (gp) fs_fit_gpd(y) else fs_fit_gev(x)))
    lmoments <- quietly(list(
      par = named((if (gp) fs_fit_gpd(y, "lmoments") else fs_fit_gev(x, "lmoments"))$estimate)
    ))
    blocks$extRemes_lmoments <- lmoments
  }
  if (has("evd")) {
    blocks$evd <- quietly(plain_evd(if (gp) evd::fpot(series, u, npp = 1) else evd::fgev(x)))
    blocks$evd_careful <- quietly(careful_block(
      if (gp) fs_fit_gpd(y, source = "evd") else fs_fit_gev(x, source = "evd")
    ))
  }
  blocks
}

pp_blocks <- function(case) {
  x <- vector(case$x)
  u <- case$threshold
  blocks <- list()
  for (npy in c("365.25", "500")) {
    units <- if (npy == "500") "500/year" else "days"
    if (has("extRemes")) {
      blocks[[paste0("extRemes_npy", npy)]] <- quietly(plain_extremes(
        extRemes::fevd(x, threshold = u, type = "PP", time.units = units)
      ))
      careful <- function() fs_fit_point_process(x[x > u] - u, length(x), u, as.numeric(npy))
      blocks[[paste0("extRemes_careful_npy", npy)]] <- quietly(careful_block(careful()))
    }
    if (has("evd")) {
      fit <- function() evd::fpot(x, u, model = "pp", npp = as.numeric(npy))
      blocks[[paste0("evd_npp", npy)]] <- quietly(plain_evd(fit()))
    }
  }
  blocks
}

# --- highest density regions
# -----------------------------------------------------------------------------

levels_of <- function(found) {
  probs <- sort(found$level, decreasing = TRUE)
  lapply(seq_along(probs), function(i) {
    ends <- found$hdr[i, ]
    ends <- ends[!is.na(ends)]
    pairs <- lapply(seq_len(length(ends) / 2L), function(k) I(ends[2L * k - 1:0]))
    list(prob = probs[i], falpha = unname(found$falpha[i]), intervals = pairs)
  })
}

hdr1_blocks <- function(case) {
  x <- vector(case$x)
  percent <- sort(100 * vector(case$probs))
  block <- function(den) {
    found <- hdrcde::hdr(x, prob = percent, den = den)
    list(
      density_x = I(den$x),
      density_y = I(den$y),
      levels = levels_of(found),
      mode = I(found$mode)
    )
  }
  smooth <- function(h) {
    args <- list(x, bw = h, n = 1001)
    if (getRversion() >= "4.4.0") {
      args$old.coords <- TRUE
    }
    do.call(stats::density, args)
  }
  blocks <- list()
  if (!has("hdrcde")) {
    return(blocks)
  }
  given <- list(x = vector(case$x_and_den$density_x), y = vector(case$x_and_den$density_y))
  blocks$sample_call <- quietly(block(smooth(case$bandwidth$h)))
  blocks$fixed_bandwidth <- c(
    list(h = case$fixed_bandwidth$h, rule = case$fixed_bandwidth$rule),
    quietly(block(smooth(case$fixed_bandwidth$h)))
  )
  blocks$x_and_den <- quietly(block(given))
  blocks
}

hdr2_blocks <- function(case) {
  blocks <- list()
  if (!has("hdrcde")) {
    return(blocks)
  }
  for (method in c("ash", "ks")) {
    if (!has(method)) {
      next
    }
    h <- if (method == "ks") sqrt(vector(case$ks$H)[c(1L, 4L)])^2
    found <- hdrcde::hdr.2d(
      vector(case$x),
      vector(case$y),
      prob = sort(100 * vector(case$probs)),
      kde.package = method,
      h = h
    )
    block <- case[[method]]
    block$alpha <- I(unname(found$alpha))
    block$falpha <- I(unname(found$falpha))
    block$mode <- I(unname(found$mode))
    blocks[[method]] <- block
  }
  blocks
}

# --- all cases
# -------------------------------------------------------------------------------------------

# Largest relative difference of the numbers that two blocks share.
distance <- function(old, new) {
  if (is.list(old) && is.list(new) && !is.null(names(old))) {
    shared <- setdiff(
      intersect(names(old), names(new)),
      c("warnings", "convergence", "notes", "ok", "calls")
    )
    return(max(0, vapply(shared, function(name) distance(old[[name]], new[[name]]), 0)))
  }
  old <- suppressWarnings(vector(old))
  new <- suppressWarnings(vector(new))
  if (length(old) != length(new) || !length(old)) {
    return(0)
  }
  size <- max(0, abs(old), na.rm = TRUE)
  if (size == 0) 0 else max(0, abs(old - new) / size, na.rm = TRUE)
}

versions <- package_versions(c(
  "extRemes",
  "evd",
  "Lmoments",
  "distillery",
  "hdrcde",
  "ks",
  "ash",
  "KernSmooth"
))
for (path in list.files(cases, "^(gp|gev|pp|hdr1|hdr2)_.*[.]json([.]gz)?$", full.names = TRUE)) {
  case <- jsonlite::fromJSON(gzfile(path), simplifyVector = FALSE)
  blocks <- switch(
    case$kind,
    hdr1d = hdr1_blocks(case),
    hdr2d = hdr2_blocks(case),
    pp = pp_blocks(case),
    evt_blocks(case)
  )
  moved <- vapply(
    setdiff(names(blocks), "calls"),
    function(name) distance(case[[name]], blocks[[name]]),
    0
  )
  case[names(blocks)] <- blocks
  case$versions <- versions
  target <- file.path(output, basename(path))
  if (grepl("[.]gz$", target)) {
    connection <- gzfile(target, "w", compression = 9L)
    writeLines(json(case), connection, useBytes = TRUE)
    close(connection)
  } else {
    writeLines(json(case), target, useBytes = TRUE)
  }
  cat(
    sprintf("%-34s", basename(path)),
    paste0(names(moved), " ", format(moved, digits = 2L), collapse = "  "),
    "\n"
  )
}
for (script in c("make_rates_reference.R", "make_survey_reference.R")) {
  status <- system2(
    file.path(R.home("bin"), "Rscript"),
    c(shQuote(file.path(here(), script)), shQuote(output))
  )
  if (status != 0L) stop(script, " failed", call. = FALSE)
}
