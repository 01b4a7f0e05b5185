# Rscript treed_gp.R FOLDER SEED LIMIT: reads X.txt, y.txt and X_new.txt, writes km.bin and ks2.bin, one row per draw.
suppressMessages(library(tgp))
given <- commandArgs(trailingOnly = TRUE)
folder <- given[1]
set.seed(as.integer(given[2]))
limit <- as.numeric(given[3])
read <- function(name) as.matrix(read.table(file.path(folder, name)))
X <- read("X.txt"); y <- read("y.txt")[, 1]; X_new <- read("X_new.txt")

# A trial of 100 iterations tells how many fit in the limit: at most the package's own 2000 to drop and 5000 to keep.
fit <- function(burn, total) {
  btgpllm(X, y, X_new, BTE = c(burn, total, 2), pred.n = FALSE, krige = TRUE, trace = TRUE, verb = 0)
}
seconds <- function() sum(proc.time()[1:2])
started <- seconds()
invisible(fit(50, 100))
used <- seconds() - started
# Prediction takes part of the time of kept iterations only, and trees make later ones cheaper.
total <- as.integer(min(7000, (limit - seconds()) / used * 100))
total <- max(30, total - total %% 2)
burn <- 2 * (total %/% 7)
model <- fit(burn, total)

# The trace is of outputs with mean 0 and range 1.
centre <- mean(y); range <- max(y) - min(y)
keep <- function(name, values) writeBin(as.numeric(t(as.matrix(values))), file.path(folder, name))
keep("km.bin", centre + range * model$trace$preds$ZZ.km)
keep("ks2.bin", range^2 * model$trace$preds$ZZ.ks2)
