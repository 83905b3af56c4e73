from tests.attacks.pinned import DISHONEST


def test_no_case_is_known_that_gets_through() -> None:
    assert not DISHONEST
