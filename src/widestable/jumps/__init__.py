"""The jumps of the fitted function: where they are, how large, how abrupt and how probable.

From the draws to what the user reads, in this order:

1. `steps.py` collects the steps of each draw that are narrow enough to count. Steps with the same training rows on
   either side cannot be told apart by the data, so they form a group. A group that adds up to a large enough change is
   a jump of that draw.
2. `matching.py` decides which jumps of different draws are the same jump.
3. `find.py` summarises each of them over the draws that have it.
4. `outliers.py` marks pairs of them that are more likely an outlier.
5. `result.py` holds the answer, and `words.py` puts it into words.

`probability.py` asks the same steps another question: how probable is a jump between two given places, or between
neighbouring cells of a map?
"""

from .find import find_jumps as find_jumps
from .probability import jump_probability as jump_probability
from .result import BoundaryMap, Gaps, Jump, Jumps

# The functions take stored draws, in the model's units; users call the methods of a fitted model.
__all__ = ["BoundaryMap", "Gaps", "Jump", "Jumps"]
