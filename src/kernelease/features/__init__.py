"""Feature maps: rows to integer vectors whose norm and diameter are known before any row is seen."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.features.class_moments import ClassMoments
    from kernelease.features.feature_map import FeatureMap
    from kernelease.features.fourier import Fourier
    from kernelease.features.indicators import HashedNgrams, OneHot, RandomBinning
    from kernelease.features.kar_karnick import KarKarnick
    from kernelease.features.nystrom import Nystrom
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "class_moments": "ClassMoments",
            "feature_map": "FeatureMap",
            "fourier": "Fourier",
            "indicators": "HashedNgrams OneHot RandomBinning",
            "kar_karnick": "KarKarnick",
            "nystrom": "Nystrom",
        },
    )

__all__ = ["ClassMoments", "FeatureMap", "Fourier", "HashedNgrams", "KarKarnick", "Nystrom", "OneHot", "RandomBinning"]
