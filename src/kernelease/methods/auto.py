"""Which method, when nobody says: one line of code per case, one sentence of reason."""

import numpy as np

from kernelease.errors import ParameterError
from kernelease.fit.points.source import NormalPoints
from kernelease.kernels.shift_invariant import ShiftInvariant
from kernelease.methods.adaptive.adaptive import Adaptive
from kernelease.methods.interactions.interactions import Interactions
from kernelease.methods.method import Method
from kernelease.table.domain import Domain

REACH = 10.0  # lengthscales around 0 to look for rows in. convention: where nothing else is known


def method_for(domain: Domain, dimension: int) -> Method:
    """`Interactions` for tables; `Adaptive` for vectors, looking for them within some ten lengthscales around 0.

    Nothing is read from the rows. Whoever knows where they lie gives `Adaptive(points=…)` and gets a better release.
    """
    if domain.schema is not None:
        return Interactions()
    kernel = domain.kernel
    if not isinstance(kernel, ShiftInvariant):
        raise ParameterError(
            f"release: {type(kernel).__name__} needs a method with public points to use, "
            "for example Adaptive(points=PublicPoints(…))."
        )
    widest = float(np.max(np.asarray(kernel.lengthscale, dtype=np.float64)))
    return Adaptive(points=NormalPoints(dimension=dimension, scale=REACH * widest))
