# Geometric means by level, from `plumb export --csv > runs.csv`; base R is enough.
# Rscript levels.R [runs.csv]
arguments <- commandArgs(trailingOnly = TRUE)
file <- if (length(arguments) > 0) arguments[1] else "runs.csv"
runs <- read.csv(file, check.names = FALSE)

# Runs that the checks reject are exported too: what they measured is not what they claim.
runs <- runs[runs$verdict != "reject" & runs$metric == "read.iops" & !is.na(runs$value), ]

means <- tapply(log(runs$value), list(depth = runs$factor.depth, device = runs$factor.device), mean)
means <- exp(means)
print(round(means))
for (depth in rownames(means)) {
  cat(sprintf("depth %s: the second is %.3f times as fast\n", depth, means[depth, 2] / means[depth, 1]))
}
