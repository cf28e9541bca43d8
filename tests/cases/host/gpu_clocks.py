"""Clocks that stop before the GPU does, on a model of a stream: launches cost the host 5 us, and work runs in order.

Source: TristanBilot/mlx-benchmark pull 21, NVIDIA/accelerated-computing-hub pull 81, ENCCS/julia-for-hpc issue 56. A
launch queue that is full: numba/numba issue 4390, arrayfire/arrayfire issue 1388.
"""

LAUNCH, PLACES = 5e-6, 1024  # seconds on the host; launches that fit into the queue


class Stream:
    def __init__(self):
        self.now = 0.0  # on the host
        self.ends = []  # when each launch is done

    def launch(self, work):
        if len(self.ends) >= PLACES:
            self.now = max(self.now, self.ends[-PLACES])  # waits for a place in the queue
        self.now += LAUNCH
        self.ends.append(max(self.now, self.ends[-1] if self.ends else 0.0) + work)

    def synchronise(self):
        self.now = max(self.now, self.ends[-1])


def _times(work, before, after):
    seconds = []
    for one in work:
        stream = Stream()
        stream.launch(3e-3)  # something else, earlier
        if before:
            stream.synchronise()
        began = stream.now
        stream.launch(one)
        if after:
            stream.synchronise()
        seconds.append(stream.now - began)
    return {"work": work, "seconds": seconds}


WORK = [100e-6, 10_000e-6]


def clock_of_launches():
    return _times(WORK, before=False, after=False)


def synchronised_before_alone():
    return _times(WORK, before=True, after=False)


def synchronised_after_alone():
    return _times(WORK, before=False, after=True)


def synchronised_before_and_after():
    return _times(WORK, before=True, after=True)


def several_sizes():
    return _times([1e-3, 2e-3, 4e-3, 8e-3], before=True, after=True)


def _iterations(count, work, synchronise):
    stream, seconds = Stream(), []
    for _ in range(count):
        began = stream.now
        stream.launch(work)
        if synchronise:
            stream.synchronise()
        seconds.append(stream.now - began)
    return {"seconds": seconds}


def queue_fills_up():
    return _iterations(3000, 50e-6, synchronise=False)


def every_iteration_synchronised():
    return _iterations(3000, 50e-6, synchronise=True)


def a_slow_start_and_a_hiccup():
    """Compilation, and one iteration that something else came between."""
    return {"seconds": [2.0] + [1e-3] * 500 + [20e-3] + [1.1e-3] * 500}


CASES = {
    "clock of launches": {
        "give": clock_of_launches,
        "check": "check_clock",
        "say": ["100 times the work", "5 us", "the launch and not the work", "before it starts and before it stops"],
    },
    "synchronised before alone": {
        "give": synchronised_before_alone,
        "check": "check_clock",
        "say": ["the launch and not the work"],
    },
    "synchronised after alone": {
        "give": synchronised_after_alone,
        "check": "check_clock",
        "say": ["100 times the work", "in the queue before it", "synchronise before it starts"],
    },
    "clock of launches, cured": {"give": synchronised_before_and_after, "check": "check_clock", "say": []},
    "several sizes": {"give": several_sizes, "check": "check_clock", "say": []},
    "queue fills up": {
        "give": queue_fills_up,
        "check": "check_iterations",
        "say": ["5 us each", "50 us", "from number 1,137 on", "nothing became slower", "between two synchronisations"],
    },
    "queue fills up, cured": {"give": every_iteration_synchronised, "check": "check_iterations", "say": []},
    "a slow start": {"give": a_slow_start_and_a_hiccup, "check": "check_iterations", "say": []},
}
