"""Builders of well-formed messages: one for each of the sixteen types.

Every builder takes ``timestamp`` (default: now; 0 is a time like any other), ``turn_id`` (left out when empty) and further members, which never
replace what the builder itself writes.
"""

import time
from typing import Any, Dict, List, Optional

from .. import constants

Message = Dict[str, Any]


def _build(
    type_: str, fields: Message, timestamp: Optional[float], turn_id: Optional[str], extra: Message
) -> Message:
    if "type" in extra:
        raise ValueError("the type of a message is its builder's")
    message: Message = {**extra, "type": type_, **fields}
    message["timestamp"] = time.time() if timestamp is None else timestamp
    if turn_id:
        message["turn_id"] = turn_id
    return message


def _of_content(type_: str):
    def build(content: Any, timestamp: Optional[float] = None, turn_id: Optional[str] = None, **extra: Any) -> Message:
        return _build(type_, {"content": content}, timestamp, turn_id, extra)

    build.__doc__ = f"A message of type ``{type_}``."
    return build


create_user_message = _of_content(constants.USER_MESSAGE)
create_assistant_message = _of_content(constants.ASSISTANT_MESSAGE)
create_task_entry = _of_content(constants.TASK)
create_observation_entry = _of_content(constants.OBSERVATION)
create_final_entry = _of_content(constants.FINAL)
create_director_context_entry = _of_content(constants.DIRECTOR_CONTEXT)
create_injected_context_entry = _of_content(constants.INJECTED_CONTEXT)
create_script_plan_entry = _of_content(constants.SCRIPT_PLAN)
create_suggested_plan_entry = _of_content(constants.SUGGESTED_PLAN)
create_script_instruction_entry = _of_content(constants.SCRIPT_INSTRUCTION)


def create_strategic_plan_entry(
    plan: Any, timestamp: Optional[float] = None, turn_id: Optional[str] = None, **extra: Any
) -> Message:
    return _build(constants.STRATEGIC_PLAN, {"content": plan}, timestamp, turn_id, extra)


def create_action_entry(
    tool_name: str,
    tool_args: Dict[str, Any],
    timestamp: Optional[float] = None,
    turn_id: Optional[str] = None,
    **extra: Any,
) -> Message:
    return _build(constants.ACTION, {"tool": tool_name, "args": tool_args}, timestamp, turn_id, extra)


def create_error_entry(
    content: Any,
    error_type: Optional[str] = None,
    timestamp: Optional[float] = None,
    turn_id: Optional[str] = None,
    **extra: Any,
) -> Message:
    fields = {"content": content, **({"error_type": error_type} if error_type else {})}
    return _build(constants.ERROR, fields, timestamp, turn_id, extra)


def create_delegation_entry(
    worker: str, task: str, timestamp: Optional[float] = None, turn_id: Optional[str] = None, **extra: Any
) -> Message:
    return _build(constants.DELEGATION, {"worker": worker, "task": task}, timestamp, turn_id, extra)


def create_synthesis_entry(
    content: Any,
    from_manager: str,
    phase_id: Optional[int] = None,
    timestamp: Optional[float] = None,
    turn_id: Optional[str] = None,
    **extra: Any,
) -> Message:
    phase = {} if phase_id is None else {"phase_id": phase_id}
    fields = {"content": content, "from_manager": from_manager, **phase}
    return _build(constants.SYNTHESIS, fields, timestamp, turn_id, extra)


def create_global_observation_entry(
    content: Any,
    from_worker: Optional[str] = None,
    summary: Optional[str] = None,
    timestamp: Optional[float] = None,
    turn_id: Optional[str] = None,
    **extra: Any,
) -> Message:
    optional = {name: value for name, value in (("from_worker", from_worker), ("summary", summary)) if value}
    return _build(constants.GLOBAL_OBSERVATION, {"content": content, **optional}, timestamp, turn_id, extra)


def _describe(
    description: str,
    builder: str,
    required: List[str],
    optional: Optional[List[str]] = None,
    fields: Optional[List[str]] = None,
) -> Message:
    """``required`` and ``optional`` are the builder's arguments; ``fields`` what a message must have beside its type."""
    return {
        "description": description,
        "builder": builder,
        "required": required,
        "optional": [*(optional or []), "timestamp", "turn_id"],
        "fields": fields or required,
    }


AVAILABLE_MESSAGE_TYPES: Dict[str, Message] = {
    constants.USER_MESSAGE: _describe("What the user said", "create_user_message", ["content"]),
    constants.ASSISTANT_MESSAGE: _describe("What the assistant answered", "create_assistant_message", ["content"]),
    constants.TASK: _describe("Start of a turn of execution", "create_task_entry", ["content"]),
    constants.ACTION: _describe("Call of a tool", "create_action_entry", ["tool_name", "tool_args"], fields=["tool", "args"]),
    constants.OBSERVATION: _describe("What a tool gave", "create_observation_entry", ["content"]),
    constants.ERROR: _describe("What went wrong", "create_error_entry", ["content"], ["error_type"]),
    constants.FINAL: _describe("End of the work", "create_final_entry", ["content"]),
    constants.SYNTHESIS: _describe(
        "A manager's summary of its workers", "create_synthesis_entry", ["content", "from_manager"], ["phase_id"]
    ),
    constants.STRATEGIC_PLAN: _describe("A plan made here", "create_strategic_plan_entry", ["plan"], fields=["content"]),
    constants.SUGGESTED_PLAN: _describe("A plan given from outside", "create_suggested_plan_entry", ["content"]),
    constants.SCRIPT_PLAN: _describe("A plan with steps", "create_script_plan_entry", ["content"]),
    constants.SCRIPT_INSTRUCTION: _describe("A given script", "create_script_instruction_entry", ["content"]),
    constants.DELEGATION: _describe("Work given to a worker", "create_delegation_entry", ["worker", "task"]),
    constants.GLOBAL_OBSERVATION: _describe(
        "Told to every agent", "create_global_observation_entry", ["content"], ["from_worker", "summary"]
    ),
    constants.DIRECTOR_CONTEXT: _describe("Context for a manager", "create_director_context_entry", ["content"]),
    constants.INJECTED_CONTEXT: _describe("Context for an agent", "create_injected_context_entry", ["content"]),
}


def get_message_type_info(type_: str) -> Optional[Message]:
    """The catalogue's row of a type; None for one that there is not."""
    return AVAILABLE_MESSAGE_TYPES.get(type_)


def prepare_history_from_job_data(job: Message) -> List[Message]:
    """The record of a job as messages: of its ``conversation`` what user and assistant said, of its ``traces`` tasks, actions and observations.

    Whatever else is there is left out without a word.
    """
    said = [
        {**{name: value for name, value in turn.items() if name != "role"}, "type": _JOB_ROLES[turn["role"]]}
        for turn in _maps(job.get("conversation"))
        if turn.get("role") in tuple(_JOB_ROLES)
    ]
    traces = [dict(trace) for trace in _maps(job.get("traces")) if trace.get("type") in _JOB_TRACES]
    return [message for message in [*said, *traces] if _has_fields(message)]


_JOB_ROLES = {"user": constants.USER_MESSAGE, "assistant": constants.ASSISTANT_MESSAGE}
_JOB_TRACES = (constants.TASK, constants.ACTION, constants.OBSERVATION)


def _maps(value: Any) -> List[Message]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _has_fields(message: Message) -> bool:
    return all(name in message for name in AVAILABLE_MESSAGE_TYPES[message["type"]]["fields"])
