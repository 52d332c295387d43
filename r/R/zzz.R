# Every public function asks first for the arguments that have no default, so that leaving one out is an error of ours.
for (name in grep("^fs_", ls(), value = TRUE)) {
  public <- get(name)
  needed <- setdiff(names(formals(public))[!nzchar(as.character(formals(public)))], "...")
  if (length(needed)) body(public) <- call("{", call("need_arguments", needed), body(public))
  assign(name, public)
}
rm(name, public, needed)
