"""Virtual addresses that outlive a launch: device code may keep a pointer in memory and use it later.

An array gets its address when a kernel first sees it, keeps it while it exists, and nothing else ever gets it. So a
pointer that one launch stored still means the same array in the next, one whose array is gone points to nothing, and a
view lies where it lies in its array: `x[1:]` of float32 is 4 bytes past an aligned address, as on a GPU.
"""

from __future__ import annotations

import bisect
import weakref
from collections import deque

import numpy as np

from gpukit.machine.memory import ALIGNMENT
from gpukit.machine.program import GLOBAL_BASE, Whereabouts

# Above what single launches hand out.
FIRST = GLOBAL_BASE << 1
_REMEMBERED = 4096  # arrays that are gone, for messages


class AddressBook:
    """The addresses that a process has given to arrays."""

    def __init__(self) -> None:
        self._next = FIRST
        self._places: dict[int, tuple[Whereabouts, weakref.ref[np.ndarray]]] = {}  # id of the owner -> its place
        self._bases: list[int] = []  # of the living, ascending: an address is never given twice
        self._owners: list[int] = []  # their ids, in the same order
        self.former: deque[Whereabouts] = deque(maxlen=_REMEMBERED)

    def address(self, array: np.ndarray, name: str) -> int:
        """The address of the first byte of an array."""
        owner = owner_of(array)
        found = self._places.get(id(owner))
        if found is None:
            place = Whereabouts(self._next, owner.nbytes, name)
            self._next += -(-max(1, owner.nbytes) // ALIGNMENT) * ALIGNMENT + ALIGNMENT
            self._places[id(owner)] = found = place, weakref.ref(owner)
            self._bases.append(place.base)
            self._owners.append(id(owner))
            weakref.finalize(owner, self._forget, id(owner))
        return found[0].base + first_byte(array) - first_byte(owner)

    def living(self) -> list[tuple[Whereabouts, np.ndarray]]:
        """Every array that has an address and still exists."""
        return [(place, owner) for place, there in self._places.values() if (owner := there()) is not None]

    def find(self, address: int) -> tuple[Whereabouts, np.ndarray] | None:
        """The array that an address lies in, if it still exists."""
        number = bisect.bisect_right(self._bases, address) - 1
        if number < 0:
            return None
        place, there = self._places[self._owners[number]]
        owner = there()
        return (place, owner) if owner is not None and address < place.base + place.nbytes else None

    def _forget(self, owner: int) -> None:
        place, _ = self._places.pop(owner)
        number = bisect.bisect_left(self._bases, place.base)
        del self._bases[number], self._owners[number]
        self.former.append(place)


def owner_of(array: np.ndarray) -> np.ndarray:
    """The contiguous array whose memory an array is a part of; the array itself where there is none."""
    owner = array
    while isinstance(array.base, np.ndarray):
        array = array.base
        if array.flags.forc:
            owner = array
    return owner


def first_byte(array: np.ndarray) -> int:
    """The host's address of the first byte of an array."""
    return int(array.__array_interface__["data"][0])


BOOK = AddressBook()
