"""The interface of a message store: four views of the messages of a location."""

from abc import ABC, abstractmethod
from typing import Any

Message = dict[str, Any]
"""A message of one of the sixteen types (`constants.py`); its `type` decides which other members it has."""


class BaseMessageStore(ABC):
    """A store that messages are read from. A location is a text that only the store understands.

    Every view is ascending in time. `limit` is the number of the oldest messages; 0 or None is all.
    """

    @abstractmethod
    def get_conversation_messages(self, location: str, limit: int | None = None) -> list[Message]:
        """Reads what user and assistant said."""

    @abstractmethod
    def get_agent_messages(self, location: str, agent_key: str, limit: int | None = None) -> list[Message]:
        """Reads what one agent did."""

    @abstractmethod
    def get_global_messages(self, location: str, limit: int | None = None) -> list[Message]:
        """Reads the messages for every agent."""

    @abstractmethod
    def get_team_messages(self, location: str, agent_keys: list[str], limit: int | None = None) -> list[Message]:
        """Reads what several agents did; each message has its `agent_key`."""
