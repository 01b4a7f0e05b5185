"""The wider comparison: many problems, many methods, one time limit, and the choice of the default from it.

python -m studies.evidence run       # hours; continues where it stopped
python -m studies.evidence export    # kept results into studies/evidence/*.csv
python -m studies.evidence default   # the table behind the default
python -m studies.evidence page      # docs/evidence.md from the exported results
"""
