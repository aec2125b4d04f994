from kernelease.features.feature_map import FeatureMap as FeatureMap
from kernelease.features.fourier import Fourier as Fourier
from kernelease.features.indicators import (
    HashedNgrams as HashedNgrams,
    OneHot as OneHot,
    RandomBinning as RandomBinning,
)
from kernelease.features.kar_karnick import KarKarnick as KarKarnick
from kernelease.features.moments import Ball as Ball, ClassMoments as ClassMoments
from kernelease.features.nystrom import Nystrom as Nystrom
