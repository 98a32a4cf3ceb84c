"""nanscope: finds where a PyTorch training run turns NaN. Importing it imports neither torch nor numpy."""

from nanscope._core import __version__
from nanscope.watch import Scope, watch

__all__ = ["Scope", "__version__", "watch"]
