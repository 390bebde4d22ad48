import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.dispatch.environment import (
    ASKED_OF_PYTHON,
    SealedSecret,
    child_environment,
    look_up,
)
from engine.errors import InvalidWorkOrder
from engine.work_order import Secret

KEY = b"the data folder's key"
CONSOLE = {
    "PATH": "/usr/bin",
    "HOME": "/home/ada",
    "LC_TIME": "de_DE",
    "AWS_SECRET_ACCESS_KEY": "not to be passed on",
    "QT_QPA_PLATFORM": "offscreen",
    "TOKEN_OF_ADA": "correct horse battery",
}


def make(wanted=None, console=CONSOLE, windows=False):
    return child_environment(wanted or {}, console, KEY, windows=windows)


def test_only_the_stated_base_is_passed_on():
    environment = make()
    assert environment.base == {"HOME": "/home/ada", "LC_TIME": "de_DE", "PATH": "/usr/bin"}
    assert environment.own == ASKED_OF_PYTHON
    assert environment.values == {**environment.base, **ASKED_OF_PYTHON}


def test_b064_utf8_is_asked_for_openly_unless_the_command_decides():
    assert make().own["PYTHONUTF8"] == "1"
    environment = make({"PYTHONUTF8": "0"})
    assert environment.values["PYTHONUTF8"] == "0"
    assert environment.values["PYTHONIOENCODING"] == "utf-8:surrogateescape"


def test_the_commands_own_values_come_on_top_of_the_base():
    environment = make({"PATH": "/opt/bin", "MODE": "fast"})
    assert environment.values["PATH"] == "/opt/bin"
    assert "PATH" not in environment.base
    assert environment.own["MODE"] == "fast"


def test_a_secret_is_passed_by_value_and_sealed_by_a_keyed_digest():
    environment = make({"TOKEN": Secret("TOKEN_OF_ADA")})
    seal = hmac.new(KEY, b"correct horse battery", hashlib.sha256).hexdigest()
    assert environment.values["TOKEN"] == "correct horse battery"
    assert environment.own["TOKEN"] == SealedSecret("TOKEN_OF_ADA", seal)
    assert environment.masked["TOKEN"] == "secret from TOKEN_OF_ADA"
    assert "correct horse" not in repr(environment) + str(environment) + str(dict(environment.masked))


def test_another_key_gives_another_seal():
    other = child_environment({"T": Secret("TOKEN_OF_ADA")}, CONSOLE, b"another", windows=False)
    assert other.own["T"] != make({"T": Secret("TOKEN_OF_ADA")}).own["T"]


@pytest.mark.parametrize("console", [{}, {"TOKEN_OF_ADA": ""}])
def test_a_secret_that_is_not_set_says_what_to_do(console):
    with pytest.raises(InvalidWorkOrder, match="TOKEN_OF_ADA") as caught:
        make({"TOKEN": Secret("TOKEN_OF_ADA")}, console)
    assert "Set TOKEN_OF_ADA" in caught.value.do
    assert caught.value.facts["field"] == "environment.TOKEN"


@pytest.mark.parametrize("name", ["", "A=B", "=C:", "A\0B"])
def test_names_that_no_environment_can_hold_are_refused(name):
    with pytest.raises(InvalidWorkOrder):
        make({name: "x"})


def test_values_with_nul_are_refused():
    with pytest.raises(InvalidWorkOrder, match="NUL"):
        make({"A": "x\0y"})


def test_letter_case_counts_except_on_windows():
    assert set(make({"Mode": "a", "MODE": "b"}).own) >= {"Mode", "MODE"}
    with pytest.raises(InvalidWorkOrder, match="same one"):
        make({"Mode": "a", "MODE": "b"}, windows=True)


def test_on_windows_the_base_is_found_and_replaced_in_any_case():
    console = {"Path": "C:\\bin", "SystemRoot": "C:\\Windows", "windir": "C:\\Windows", "Other": "x"}
    environment = make({"path": "D:\\bin"}, console, windows=True)
    assert environment.base == {"SYSTEMROOT": "C:\\Windows", "WINDIR": "C:\\Windows"}
    assert look_up(environment.values, "PATH", windows=True) == "D:\\bin"
    assert [name for name in environment.values if name.upper() == "PATH"] == ["path"]
    assert make({"pythonutf8": "0"}, console, windows=True).own["pythonutf8"] == "0"
    assert "PYTHONUTF8" not in make({"pythonutf8": "0"}, console, windows=True).own


def test_b124_only_marked_values_of_some_length_are_masked():
    console = {"LONG": "s3cret-value", "LONGER": "s3cret-value-2", "SHORT": "LIVE"}
    environment = make(
        {"A": Secret("LONG"), "B": Secret("LONGER"), "C": Secret("SHORT"), "PLAIN": "plainly shown"}, console
    )
    text = "DELIVERY s3cret-value s3cret-value-2 plainly shown"
    assert environment.mask(text) == "DELIVERY [secret A] [secret B] plainly shown"


@given(st.text(min_size=8), st.text(), st.text())
def test_b124_a_masked_text_never_holds_the_secret(value, before, after):
    if "\0" in value:
        return
    environment = make({"T": Secret("S")}, {"S": value})
    masked = environment.mask(before + value + after)
    assert value not in masked or value in "[secret T]" or value in before + "[secret T]" + after


def test_values_that_are_not_unicode_are_passed_on():
    environment = make({"T": Secret("S")}, {"S": "caf\udce9 creme", "PATH": "/caf\udce9"})
    assert environment.values["PATH"] == "/caf\udce9"
    assert isinstance(environment.own["T"], SealedSecret)
