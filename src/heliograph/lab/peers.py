"""Every broker that can be measured. To add a peer, write one class and list it here."""

from heliograph.lab.rabbitmq import RabbitMQ
from heliograph.lab.targets import BareLoop, Heliograph, HeliographMemory, Mosquitto, Target

TARGETS: tuple[type[Target], ...] = (Heliograph, HeliographMemory, Mosquitto, RabbitMQ, BareLoop)
