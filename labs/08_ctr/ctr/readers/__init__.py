"""Click logs of others, made into ours: Criteo's and Avazu's files, MovieLens and flights from an optional package.

Each reader goes over its rows twice and never holds them all. The first pass takes the text apart into a number for
each cell, in temporary files beside the log; the second looks values up in a vocabulary that was fitted on the training
rows alone, and writes the log. What a file must not hold is an error that names the line.
"""

from .avazu import read_avazu
from .criteo import read_criteo
from .tables import read_flights, read_movielens
from .vocabulary import open_vocabularies

__all__ = ["open_vocabularies", "read_avazu", "read_criteo", "read_flights", "read_movielens"]
