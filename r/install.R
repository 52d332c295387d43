# Installs from CRAN what the R side of fairstats can use:  Rscript r/install.R
#
# On Debian and Ubuntu most of it comes faster from the distribution:
#   apt-get install r-cran-evd r-cran-ks r-cran-survey r-cran-boot r-cran-jsonlite r-cran-testthat
# extRemes, hdrcde and ash are on CRAN only.

wanted <- c(
  "extRemes",
  "evd",
  "hdrcde",
  "ks",
  "ash",
  "survey",
  "boot",
  "generics",
  "jsonlite",
  "testthat"
)
absent <- wanted[!vapply(wanted, requireNamespace, NA, quietly = TRUE)]
if (length(absent)) {
  message("Installing ", paste(absent, collapse = ", "))
  library <- .libPaths()[1L]
  if (file.access(library, 2L) != 0L) {
    library <- path.expand(Sys.getenv("R_LIBS_USER"))
    dir.create(library, recursive = TRUE, showWarnings = FALSE)
  }
  repository <- getOption("repos")[["CRAN"]]
  if (is.null(repository) || identical(repository, "@CRAN@")) {
    repository <- "https://cloud.r-project.org"
  }
  utils::install.packages(absent, lib = library, repos = repository)
}
there <- vapply(wanted, requireNamespace, NA, quietly = TRUE)
for (package in wanted) {
  message(
    format(package, width = 10L),
    if (there[[package]]) utils::packageVersion(package) else "MISSING"
  )
}
if (!all(there)) {
  quit(status = 1L)
}
