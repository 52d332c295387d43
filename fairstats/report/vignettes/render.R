# Renders one vignette by R Markdown:  Rscript --vanilla render.R INPUT.Rmd OUTPUT.html STYLE.css
# The working directory of all chunks is that of the input.
given <- commandArgs(trailingOnly = TRUE)
options(width = 80L, digits = 7L, warn = 1L)

# Python chunks run in IPython, as cells of a notebook do: see chunk.py.
run_python <- function(options) {
  chunk <- reticulate::import("fairstats.report.vignettes.chunk")
  code <- paste(options$code, collapse = "\n")
  pieces <- chunk$run_chunk(
    code,
    knitr::fig_path("", options),
    options$fig.width,
    options$fig.height
  )
  widths <- unlist(lapply(pieces, function(piece) if (piece[[1L]] == "figure") piece[[3L]]))
  if (length(widths)) {
    options$out.width <- paste0(widths[[1L]], "px")
  }
  outputs <- lapply(pieces, function(piece) {
    switch(
      piece[[1L]],
      figure = knitr::include_graphics(piece[[2L]]),
      html = knitr::asis_output(paste0(
        "\n```{=html}\n<div class=\"output\">",
        piece[[2L]],
        "</div>\n```\n"
      )),
      sub("\n*$", "\n", piece[[2L]])
    )
  })
  source <- structure(list(src = code), class = "source")
  knitr::engine_output(options, out = c(list(source), outputs))
}

knitr::opts_chunk$set(comment = "")
knitr::knit_engines$set(python = run_python)
format <- rmarkdown::html_document(
  self_contained = TRUE,
  theme = NULL,
  mathjax = NULL,
  highlight = "tango",
  css = given[[3L]],
  fig_width = 7,
  fig_height = 5,
  fig_retina = 2,
  pandoc_args = "--mathml"
)
params <- jsonlite::fromJSON(Sys.getenv("FAIRSTATS_PARAMS", "{}"))
rmarkdown::render(
  given[[1L]],
  format,
  output_file = given[[2L]],
  quiet = TRUE,
  envir = new.env(),
  params = if (length(params)) as.list(params)
)
