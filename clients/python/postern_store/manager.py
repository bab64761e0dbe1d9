"""A manager that plans a task, delegates its parts, and records all of it in a message store."""

from collections.abc import Callable, Mapping
from typing import Any

from .memory import MessageStoreMemory
from .message_store import Message
from .utils.message_builder import (
    create_delegation_entry,
    create_final_entry,
    create_observation_entry,
    create_synthesis_entry,
    create_task_entry,
)

Planner = Callable[[str, list[Message]], list[tuple[str, str]]]
"""Returns pairs of a worker's name and its task, from the task and the history."""
Worker = Callable[[str], Any]
"""Does a task and returns its result."""
Policy = Callable[[str, str], bool]
"""Returns True if the worker of this name may get this task."""


class ManagerAgent:
    """Plans a task by the history in its memory, has workers do it, and records all of it.

    A worker that fails leaves an observation with the error's text, as in every other trace.
    """

    def __init__(
        self,
        planner: Planner,
        memory: MessageStoreMemory,
        workers: Mapping[str, Worker],
        policies: Mapping[str, Policy] | None = None,
    ) -> None:
        self.planner = planner
        self.memory = memory
        self.workers = workers
        self.policies = policies or {}

    def run(self, task: str, turn_id: str = "", phase_id: int | None = None) -> dict[str, Any]:
        """Runs a task and returns the result of each worker, by its name."""
        self.memory.add(create_task_entry(content=task, turn_id=turn_id))
        results: dict[str, Any] = {}
        for worker, part in self.planner(task, self.memory.get_history()):
            results[worker] = self._delegate(worker, part, turn_id)
        self.memory.add_global(
            create_synthesis_entry(
                content=results, from_manager=self.memory.agent_key, phase_id=phase_id, turn_id=turn_id
            )
        )
        self.memory.add(create_final_entry(content=f"{len(results)} of the task's parts are done", turn_id=turn_id))
        return results

    def _delegate(self, worker: str, part: str, turn_id: str) -> Any:
        self.memory.add(create_delegation_entry(worker=worker, task=part, turn_id=turn_id))
        result = self._work(worker, part)
        self.memory.add(create_observation_entry(content=result, turn_id=turn_id))
        return result

    def _work(self, worker: str, part: str) -> Any:
        if worker not in self.workers:
            return {"error": f"there is no worker {worker}"}
        denied = [name for name, allows in self.policies.items() if not allows(worker, part)]
        if denied:
            return {"error": f"denied by {', '.join(denied)}"}
        try:
            return self.workers[worker](part)
        except Exception as error:  # whatever a worker raises is its result
            return {"error": str(error)}
