"""The methods: strategies over the same few parts."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.methods.adaptive import Adaptive
    from kernelease.methods.class_gaussians import ClassGaussians
    from kernelease.methods.interactions.interactions import Interactions
    from kernelease.methods.method import Context, Method
    from kernelease.methods.paper import RandomFeatures, SmallDatabase, Subspace
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "adaptive": "Adaptive",
            "class_gaussians": "ClassGaussians",
            "interactions.interactions": "Interactions",
            "method": "Context Method",
            "paper": "RandomFeatures SmallDatabase Subspace",
        },
    )

__all__ = [
    "Adaptive",
    "ClassGaussians",
    "Context",
    "Interactions",
    "Method",
    "RandomFeatures",
    "SmallDatabase",
    "Subspace",
]
