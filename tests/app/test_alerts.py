"""Alerts: newest first, replaced in place, gone when dismissed until their words change."""

from __future__ import annotations

from app.alerts import Alert, Alerts


def keys(alerts: Alerts) -> list[str]:
    return [alert.key for alert in alerts.shown()]


def test_the_newest_is_first_and_a_changed_one_keeps_its_place() -> None:
    alerts = Alerts()
    alerts.show(Alert("a", "A"))
    alerts.show(Alert("b", "B"))
    alerts.show(Alert("a", "A, worse"))
    assert keys(alerts) == ["b", "a"]
    assert alerts.shown()[1].what == "A, worse"


def test_raising_the_same_again_is_told_once() -> None:
    alerts = Alerts()
    told: list[int] = []
    alerts.changed.connect(lambda: told.append(1))
    for _ in range(5):
        alerts.show(Alert("a", "A"))
    alerts.clear("none such")
    assert len(told) == 1


def test_a_dismissed_alert_comes_back_with_other_words_or_as_a_new_matter() -> None:
    alerts = Alerts()
    one = Alert("unknown", "1 attempt is UNKNOWN.", dismissable=True)
    alerts.show(one)
    alerts.dismiss("unknown")
    alerts.show(one)
    assert keys(alerts) == []
    alerts.show(Alert("unknown", "2 attempts are UNKNOWN.", dismissable=True))
    assert keys(alerts) == ["unknown"]
    alerts.dismiss("unknown")
    alerts.clear("unknown")
    alerts.show(one)
    assert keys(alerts) == ["unknown"]
