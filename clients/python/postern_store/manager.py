from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple

from .memory import MessageStoreMemory
from .message_store import Message
from .utils.message_builder import (
    create_delegation_entry,
    create_final_entry,
    create_observation_entry,
    create_synthesis_entry,
    create_task_entry,
)

Planner = Callable[[str, List[Message]], List[Tuple[str, str]]]
Worker = Callable[[str], Any]
Policy = Callable[[str, str], bool]


class ManagerAgent:
    """Plans a task by what its memory holds, has workers do it, and writes down all of it.

    ``planner(task, history)`` gives pairs of worker and task; ``workers`` maps names to functions of a task; ``policies`` say whether a
    worker may be given a task. A worker that fails is an observation with the error's text, as in every other trace.
    """

    def __init__(
        self,
        planner: Planner,
        memory: MessageStoreMemory,
        workers: Mapping[str, Worker],
        policies: Optional[Mapping[str, Policy]] = None,
    ) -> None:
        self.planner = planner
        self.memory = memory
        self.workers = workers
        self.policies = policies or {}

    def run(self, task: str, turn_id: str = "", phase_id: Optional[int] = None) -> Dict[str, Any]:
        """Gives what each worker found, by its name."""
        self.memory.add(create_task_entry(content=task, turn_id=turn_id))
        results: Dict[str, Any] = {}
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
        found = self._work(worker, part)
        self.memory.add(create_observation_entry(content=found, turn_id=turn_id))
        return found

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
