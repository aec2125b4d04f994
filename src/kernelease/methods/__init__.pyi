from kernelease.methods.adaptive import Adaptive as Adaptive
from kernelease.methods.class_gaussians import ClassGaussians as ClassGaussians
from kernelease.methods.interactions.interactions import Interactions as Interactions
from kernelease.methods.method import Context as Context, Method as Method
from kernelease.methods.paper import (
    RandomFeatures as RandomFeatures,
    SmallDatabase as SmallDatabase,
    Subspace as Subspace,
)
