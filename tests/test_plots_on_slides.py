"""Figures on slides: their size and texts, and that a text too small is found."""

import threading

import numpy as np
import pytest
from matplotlib.figure import Figure

import gpukit
from gpukit.errors import GpukitError
from gpukit.kernels import reduction
from gpukit.plots import activity, speed_up, style


@pytest.fixture(scope="module")
def naive():
    return gpukit.trace(reduction.naive, 1, 64, np.ones(128, np.int32), np.zeros(1, np.int32)).to_dict()


def test_on_a_slide_a_figure_is_as_wide_as_it_has_no_title_and_its_text_has_18_points(naive):
    with style.on_slide():
        figures = [speed_up.figure_of(), activity.figure_of(naive)]
    for figure in figures:
        assert figure.get_figwidth() * 96 == pytest.approx(1184)
        assert figure.get_figheight() <= 5.6
        assert figure.get_suptitle() == ""
        assert style.smallest_text(figure) == 18


def test_height_and_width_are_as_asked_and_nothing_stays():
    with style.on_slide(height=3.5, width=0.5):
        with style.on_slide():
            assert speed_up.figure_of().get_figheight() == 5.6
        figure = speed_up.figure_of()
        seen = []
        thread = threading.Thread(target=lambda: seen.append(style.is_slide()))
        thread.start()
        thread.join()
    assert (figure.get_figwidth() * 96, figure.get_figheight()) == (pytest.approx(592), 3.5)
    assert seen == [False]
    report = speed_up.figure_of()
    assert report.get_figwidth() == 9 and report.get_suptitle() and style.smallest_text(report) == 12
    with pytest.raises(ZeroDivisionError), style.on_slide():
        raise ZeroDivisionError
    assert not style.is_slide()


@pytest.mark.parametrize("room", [{"height": 5.7}, {"height": 0.2}, {"width": 1.1}, {"width": 0}])
def test_a_slide_has_only_so_much_room(room):
    with pytest.raises(GpukitError, match=r"5\.6 inches high"), style.on_slide(**room):
        pass


def test_the_smallest_text_that_is_drawn_is_found():
    with style.on_slide():
        figure, (axis,) = style.figure("", height=3)
    axis.text(0.5, 0.5, "small", fontsize=11.5)
    assert style.smallest_text(figure) == 11.5
    axis.texts[0].set_visible(False)
    axis.text(0.5, 0.5, " ", fontsize=2)
    assert style.smallest_text(figure) == 18
    axis.set_axis_off()
    assert style.smallest_text(figure) == float("inf")
    plain = Figure()
    plain.subplots()
    assert style.smallest_text(plain) == 10  # what matplotlib gives its tick labels
