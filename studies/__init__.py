"""What only developers run: the paper's tables and figures, calibration, benchmarks. Not part of the wheel.

`studies` may import `widestable`, never the other way round. Run it from the root of the repository:

    python -m studies.reproduction    # make reproduce
    python -m studies.calibration     # make sbc
    python -m studies.benchmarks      # make bench
    python -m studies.evidence        # make evidence
"""
