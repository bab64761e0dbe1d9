"""For tests of agents: signed calls, and a real gateway in dev mode.

The plugin `postern_agent.testing.fixtures` has fixtures of pytest.
"""

from .calls import make_message, sign
from .gateway import DecidedAnswer, GatewayError, InboxItem, SentReply, StartedGateway, start_gateway
from .serve import serve

__all__ = [
    "DecidedAnswer",
    "GatewayError",
    "InboxItem",
    "SentReply",
    "StartedGateway",
    "make_message",
    "serve",
    "sign",
    "start_gateway",
]
