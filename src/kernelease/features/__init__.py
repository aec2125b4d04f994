"""Feature maps: rows to integer vectors whose norm and diameter are known before any row is seen."""

from typing import TYPE_CHECKING

from kernelease.fronts import front_door

if TYPE_CHECKING:
    from kernelease.features.binning import RandomBinning
    from kernelease.features.conformance import check_feature_map
    from kernelease.features.feature_map import FeatureMap
    from kernelease.features.fourier import Fourier
    from kernelease.features.kar_karnick import KarKarnick
    from kernelease.features.ngrams import HashedNgrams
    from kernelease.features.nystrom import Nystrom
    from kernelease.features.one_hot import OneHot
else:
    __getattr__, __dir__ = front_door(
        __name__,
        {
            "binning": "RandomBinning",
            "conformance": "check_feature_map",
            "feature_map": "FeatureMap",
            "fourier": "Fourier",
            "kar_karnick": "KarKarnick",
            "ngrams": "HashedNgrams",
            "nystrom": "Nystrom",
            "one_hot": "OneHot",
        },
    )

__all__ = [
    "FeatureMap",
    "Fourier",
    "HashedNgrams",
    "KarKarnick",
    "Nystrom",
    "OneHot",
    "RandomBinning",
    "check_feature_map",
]
