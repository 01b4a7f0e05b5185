"""The paper's tables and figures beside today's competitors: `python -m studies.reproduction` (`make reproduce`)."""
