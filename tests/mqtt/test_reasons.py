"""Reason codes of MQTT 5 and the return codes of MQTT 3 that say the same."""

import pytest

from heliograph.mqtt import Reason, connack_code_v3
from heliograph.mqtt.reasons import reason_of_connack_v3


@pytest.mark.parametrize("code", range(1, 6))
def test_a_return_code_comes_back_from_its_reason(code):
    assert connack_code_v3(reason_of_connack_v3(code)) == code


def test_a_reason_that_mqtt_3_does_not_have_is_the_nearest_one():
    assert connack_code_v3(Reason.BANNED) == connack_code_v3(Reason.NOT_AUTHORIZED) == 5
    assert connack_code_v3(Reason.QUOTA_EXCEEDED) == connack_code_v3(Reason.SERVER_UNAVAILABLE) == 3


def test_success_is_0_in_both():
    assert (connack_code_v3(Reason.SUCCESS), reason_of_connack_v3(0)) == (0, Reason.SUCCESS)
