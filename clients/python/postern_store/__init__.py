"""Message stores of agents, kept by a Postern gateway."""

from .http_store import MessageStoreError, PosternMessageStore
from .manager import ManagerAgent
from .memory import HierarchicalMessageStoreMemory, MessageStoreMemory
from .message_store import BaseMessageStore

__all__ = [
    "BaseMessageStore",
    "HierarchicalMessageStoreMemory",
    "ManagerAgent",
    "MessageStoreError",
    "MessageStoreMemory",
    "PosternMessageStore",
]
