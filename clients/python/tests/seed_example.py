"""The example of the message store format, word for word but for its imports; MIT licence (auto-ai-agent-framework).

``db_connection``, ``planner``, ``workers`` and ``policies`` are whoever runs it.
"""
# ruff: noqa
from postern_store import BaseMessageStore, MessageStoreMemory
from postern_store.constants import USER_MESSAGE, ASSISTANT_MESSAGE, TASK
from typing import List, Dict, Any, Optional

class DatabaseMessageStore(BaseMessageStore):
    """Example: Database-backed message store."""
    
    def __init__(self, db_connection):
        self.db = db_connection
    
    def get_conversation_messages(self, location: str, limit: Optional[int] = None) -> List[Dict[str, Any]]:
        """Get conversation messages (user_message, assistant_message)."""
        query = """
            SELECT type, content, timestamp, turn_id
            FROM messages
            WHERE location = ? AND type IN ('user_message', 'assistant_message')
            ORDER BY timestamp ASC
        """
        if limit:
            query += f" LIMIT {limit}"
        rows = self.db.execute(query, (location,)).fetchall()
        return [dict(row) for row in rows]
    
    def get_agent_messages(self, location: str, agent_key: str, limit: Optional[int] = None) -> List[Dict[str, Any]]:
        """Get execution traces for a specific agent."""
        query = """
            SELECT type, content, timestamp, turn_id, tool, args
            FROM messages
            WHERE location = ? AND agent_key = ?
              AND type IN ('task', 'action', 'observation', 'error', 'final', 'delegation')
            ORDER BY timestamp ASC
        """
        if limit:
            query += f" LIMIT {limit}"
        rows = self.db.execute(query, (location, agent_key)).fetchall()
        return [dict(row) for row in rows]
    
    def get_global_messages(self, location: str, limit: Optional[int] = None) -> List[Dict[str, Any]]:
        """Get global/broadcast messages."""
        query = """
            SELECT type, content, timestamp, turn_id, from_worker, from_manager, summary
            FROM messages
            WHERE location = ? AND type IN ('global_observation', 'synthesis')
            ORDER BY timestamp ASC
        """
        if limit:
            query += f" LIMIT {limit}"
        rows = self.db.execute(query, (location,)).fetchall()
        return [dict(row) for row in rows]
    
    def get_team_messages(self, location: str, agent_keys: List[str], limit: Optional[int] = None) -> List[Dict[str, Any]]:
        """Get messages from multiple agents."""
        placeholders = ','.join(['?'] * len(agent_keys))
        query = f"""
            SELECT type, content, timestamp, turn_id, agent_key
            FROM messages
            WHERE location = ? AND agent_key IN ({placeholders})
            ORDER BY timestamp ASC
        """
        if limit:
            query += f" LIMIT {limit}"
        rows = self.db.execute(query, (location, *agent_keys)).fetchall()
        return [dict(row) for row in rows]

# Usage in implementation:
message_store = DatabaseMessageStore(db_connection)
location = "job_123"  # Your location identifier

memory = MessageStoreMemory(
    message_store=message_store,
    location=location,
    agent_key="orchestrator"
)

# Framework will read messages from the store via memory.get_history()
from postern_store import ManagerAgent

agent = ManagerAgent(
    planner=planner,
    memory=memory,  # Framework reads from your store
    workers=workers,
    policies=policies
)
