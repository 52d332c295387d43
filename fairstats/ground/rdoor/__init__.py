"""What both doors to R share, and the second of them: a process of Rscript."""
