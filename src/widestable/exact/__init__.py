"""The published method: a finite partition of the hyperplanes, and the samplers on it."""
