"""The constants of the standard."""

import math as _math

e = _math.e
pi = _math.pi
inf = _math.inf
nan = _math.nan
newaxis = None

__all__ = ["e", "pi", "inf", "nan", "newaxis"]
