"""Every broker that can be measured. To add a peer, write one class and list it here."""

from heliograph.lab.targets.bare_loop import BareLoop
from heliograph.lab.targets.heliograph_server import Heliograph, HeliographMemory
from heliograph.lab.targets.mosquitto import Mosquitto
from heliograph.lab.targets.nats import Nats
from heliograph.lab.targets.rabbitmq import RabbitMQ
from heliograph.lab.targets.target import Target

TARGETS: tuple[type[Target], ...] = (Heliograph, HeliographMemory, Mosquitto, RabbitMQ, Nats, BareLoop)
