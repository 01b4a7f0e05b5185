"""The moves of a chain, one file each. Each leaves the posterior invariant; `sweep` calls them in turn."""
