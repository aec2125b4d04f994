"""kernelease: publish a synthetic table in place of a private one, with a differential-privacy guarantee.

Here is what a release takes; the parts to build with are in `kernels`, `features`, `fit` and `methods`, the types of
answers in `analysis`, those of noise and budgets in `privacy`, all exceptions in `errors`. Names are loaded when they
are first used, so that `import kernelease` and `kernelease --version` are quick.
"""

from kernelease.fronts import front_door

__getattr__, __dir__, __all__ = front_door(__name__)
