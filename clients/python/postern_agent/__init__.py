"""An agent of a Postern gateway: typed messages, the check of its calls, and applications for ASGI and WSGI servers."""

from .asgi import create_asgi_app
from .message import Message, has_identity, text_of
from .signature import SignatureError, VerifiedCall, verify_webhook
from .types import Action, HistoricalMessage, IdentityEvidence, Part, Policy, PolicyResolution, Reply, Sender
from .webhook import Answer, CallContext, TryAgainLater, TurnFailed
from .wsgi import create_wsgi_app

__all__ = [
    "Action",
    "Answer",
    "CallContext",
    "HistoricalMessage",
    "IdentityEvidence",
    "Message",
    "Part",
    "Policy",
    "PolicyResolution",
    "Reply",
    "Sender",
    "SignatureError",
    "TryAgainLater",
    "TurnFailed",
    "VerifiedCall",
    "create_asgi_app",
    "create_wsgi_app",
    "has_identity",
    "text_of",
    "verify_webhook",
]
