"""The sixteen types of messages, and the types of two views."""

USER_MESSAGE = "user_message"
ASSISTANT_MESSAGE = "assistant_message"

TASK = "task"
ACTION = "action"
OBSERVATION = "observation"
ERROR = "error"

FINAL = "final"
SYNTHESIS = "synthesis"

STRATEGIC_PLAN = "strategic_plan"
SUGGESTED_PLAN = "suggested_plan"
SCRIPT_PLAN = "script_plan"
SCRIPT_INSTRUCTION = "script_instruction"

DELEGATION = "delegation"

GLOBAL_OBSERVATION = "global_observation"

DIRECTOR_CONTEXT = "director_context"
INJECTED_CONTEXT = "injected_context"

CONVERSATION_TYPES = (USER_MESSAGE, ASSISTANT_MESSAGE)
GLOBAL_TYPES = (GLOBAL_OBSERVATION, SYNTHESIS)
