"""All targets, by name."""

from fuzz.target import Target
from fuzz.targets.amqp import Amqp, AmqpCodec
from fuzz.targets.live import Live
from fuzz.targets.log import Log
from fuzz.targets.messages import Messages
from fuzz.targets.mqtt import Mqtt, MqttCodec
from fuzz.targets.texts import Esql, ModelFiles, Selectors

TARGETS: dict[str, type[Target]] = {
    target.name: target
    for target in (Mqtt, MqttCodec, Amqp, AmqpCodec, Selectors, Esql, ModelFiles, Messages, Log, Live)
}
