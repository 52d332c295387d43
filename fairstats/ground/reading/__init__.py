"""The one reader of files: places, sizes, text and typed formats, in memory or for an engine."""
