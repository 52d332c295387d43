# Writes man/ and NAMESPACE from the comments beside the functions:  Rscript r/document.R [FOLDER]
#
# Needs roxygen2 (Debian: r-cran-roxygen2). tests/r/test_documentation.py keeps both as they come
# out here.
folder <- c(commandArgs(trailingOnly = TRUE), "r")[1L]
roxygen2::roxygenise(folder, load_code = roxygen2::load_source)
