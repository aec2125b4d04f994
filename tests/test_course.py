"""How far a call has come, and how long it will still take, by a clock that the tests turn."""

import pytest
from hypothesis import example, given, strategies as st

from kernelease.progress import SILENT, Course, Repeated, in_words


class Clock:
    """Seconds that pass when they are told to."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_nothing_is_said_where_nothing_was_expected(clock):
    course = Course(clock)
    course.stage("reading")
    clock.now += 5
    assert (course.name, course.left(), course.share()) == ("reading", None, None)


def test_time_left_is_of_the_whole_and_not_of_the_stage(clock):
    course = Course(clock)
    course.expect({"reading": 10.0, "rough": 10.0, "fitting": 80.0})
    course.stage("reading")
    clock.now += 10
    course.stage("rough", 100)
    assert course.left() == pytest.approx(90.0, rel=0.01)
    for _ in range(100):
        clock.now += 0.1
        course.step()
    assert course.left() == pytest.approx(80.0, rel=0.01)  # the stage has ended, and most is still ahead
    assert course.share() == pytest.approx(0.2, rel=0.01)


def test_a_slow_machine_is_found_out(clock):
    """All takes three times as long as was expected; after the first stage that is known."""
    course = Course(clock)
    course.expect({"reading": 10.0, "fitting": 30.0, "drawing": 10.0})
    course.stage("reading")
    clock.now += 30
    course.stage("fitting", 10)
    assert course.left() == pytest.approx(120.0, rel=0.25)
    for _ in range(5):
        clock.now += 9
        course.step()
    assert course.left() == pytest.approx(75.0, rel=0.15)


def test_what_the_first_step_prepares_is_not_expected_of_the_others(clock):
    course = Course(clock)
    course.expect({"fitting": 20.0})
    course.stage("fitting", 100)
    clock.now += 10
    course.step()
    assert course.left() <= 20.0
    for _ in range(10):
        clock.now += 0.1
        course.step()
    assert course.left() == pytest.approx(8.9, rel=0.01)


def test_a_stage_that_lasts_longer_than_expected_is_not_said_to_be_over(clock):
    course = Course(clock)
    course.expect({"reading": 1.0})
    course.stage("reading")
    clock.now += 100
    assert course.left() >= 5.0
    assert course.share() < 0.96


def test_stages_that_were_left_out_no_longer_count(clock):
    course = Course(clock)
    course.expect({"reading": 10.0, "rough": 100.0, "fitting": 10.0})
    course.stage("reading")
    clock.now += 10
    course.stage("fitting")
    assert course.left() == pytest.approx(10.0, rel=0.01)


def test_what_is_expected_may_be_said_again(clock):
    course = Course(clock)
    course.expect({"reading": 10.0, "fitting": 10.0})
    course.stage("reading")
    clock.now += 20  # twice as slow
    course.expect({"fitting": 50.0, "drawing": 50.0})
    course.stage("fitting")
    assert course.left() == pytest.approx(150.0, rel=0.1)


def test_a_stage_of_the_same_name_goes_on(clock):
    course = Course(clock)
    course.expect({"fitting": 10.0, "drawing": 10.0})
    course.stage("fitting")
    clock.now += 2
    course.stage("fitting", 8)
    for _ in range(4):
        clock.now += 1
        course.step()
    assert 10.0 < course.left() < 20.0
    course.stage("drawing")
    assert course.left() == pytest.approx(8.0, rel=0.4)  # it was a little quicker than expected


def test_of_several_alike_the_first_says_how_long_the_others_take(clock):
    course, left = Course(clock), []
    for number in (1, 2, 3):
        one = Repeated(course, "data set", number, 3)
        one.expect({"fitting": 1.0})
        one.stage("fitting")
        assert course.name == f"data set {number} of 3: fitting"
        left.append(course.left())
        clock.now += 20
    assert left == [3.0, pytest.approx(40.0, rel=0.25), pytest.approx(20.0, rel=0.25)]


SECONDS = st.floats(0.0, 100.0)


@example([(2.2e-311, 1.0, 0), (0.0, 0.0, 0)])
@given(st.lists(st.tuples(SECONDS, SECONDS, st.integers(0, 5)), min_size=1, max_size=6))
def test_the_share_never_falls_and_never_reaches_the_end_before_it(stages):
    """However wrong what was expected is."""
    clock = Clock()
    course = Course(clock)
    course.expect({str(place): expected for place, (expected, _, _) in enumerate(stages)})
    last = 0.0
    for place, (_, taken, steps) in enumerate(stages):
        course.stage(str(place), steps or None)
        for _ in range(max(1, steps)):
            clock.now += taken / max(1, steps)
            if steps:
                course.step()
            share = course.share()
            assert last <= share <= 1.0
            assert course.left() >= 0.0
            last = share


def test_silence_takes_everything():
    SILENT.expect({"a": 1.0})
    SILENT.stage("a", 2)
    SILENT.step()


def test_words():
    assert [in_words(seconds) for seconds in (0.0, 60.0, 60.1, 3600.0)] == [
        "about 1 s left",
        "about 60 s left",
        "about 2 min left",
        "about 1 h 0 min left",
    ]
