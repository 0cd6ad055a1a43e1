"""An extension of aswd. Importing it registers its distances; everything else is found through ``configs``."""

from aswd_example import distance

__all__ = ["distance"]
