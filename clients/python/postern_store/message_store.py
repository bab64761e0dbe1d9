from abc import ABC, abstractmethod
from typing import Any, Dict, List, Optional

Message = Dict[str, Any]


class BaseMessageStore(ABC):
    """Where messages are read from. A location is a text that only the store understands.

    Every view is ascending in time; ``limit`` is the oldest so many, 0 or none is all.
    """

    @abstractmethod
    def get_conversation_messages(self, location: str, limit: Optional[int] = None) -> List[Message]:
        """What user and assistant said."""

    @abstractmethod
    def get_agent_messages(self, location: str, agent_key: str, limit: Optional[int] = None) -> List[Message]:
        """What one agent did."""

    @abstractmethod
    def get_global_messages(self, location: str, limit: Optional[int] = None) -> List[Message]:
        """What is meant for every agent."""

    @abstractmethod
    def get_team_messages(self, location: str, agent_keys: List[str], limit: Optional[int] = None) -> List[Message]:
        """What several agents did, each message with its ``agent_key``."""
