"""An agent of a Postern gateway: typed messages, the check of its calls, and applications for ASGI and WSGI servers."""

from .asgi import create_asgi_app
from .files import FileError, read_file
from .message import Forgotten, Message, Person, has_identity, text_of
from .replies import data_part, file_part, refuse, require_auth, require_consent, require_payment
from .signature import SignatureError, VerifiedCall, verify_webhook
from .types import (
    Action,
    ArtifactPart,
    DataPart,
    FilePart,
    GivenPart,
    HistoricalMessage,
    IdentityEvidence,
    LinkPart,
    Part,
    Policy,
    PolicyPart,
    PolicyResolution,
    Reply,
    Sender,
    TextPart,
    ToolCallPart,
)
from .webhook import Answer, CallContext, TryAgainLater, TurnFailed
from .wsgi import create_wsgi_app

__all__ = [
    "Action",
    "Answer",
    "ArtifactPart",
    "CallContext",
    "DataPart",
    "FileError",
    "FilePart",
    "Forgotten",
    "GivenPart",
    "HistoricalMessage",
    "IdentityEvidence",
    "LinkPart",
    "Message",
    "Part",
    "Person",
    "Policy",
    "PolicyPart",
    "PolicyResolution",
    "Reply",
    "Sender",
    "SignatureError",
    "TextPart",
    "ToolCallPart",
    "TryAgainLater",
    "TurnFailed",
    "VerifiedCall",
    "create_asgi_app",
    "create_wsgi_app",
    "data_part",
    "file_part",
    "has_identity",
    "read_file",
    "refuse",
    "require_auth",
    "require_consent",
    "require_payment",
    "text_of",
    "verify_webhook",
]
