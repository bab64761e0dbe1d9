"""Talks to agents with CrewAI, whose crew delegates its task to them as its model decides."""

import json
import os

os.environ.update(CREWAI_DISABLE_TELEMETRY='true', CREWAI_TRACING_ENABLED='false', OTEL_SDK_DISABLED='true')

from conversation import serve
from crewai import Agent, Crew, Task
from crewai.a2a import A2AClientConfig
from crewai.a2a.auth import APIKeyAuth, BearerTokenAuth
from crewai.a2a.updates import PollingConfig, StreamingConfig
from crewai.events import crewai_event_bus
from crewai.events.types.a2a_events import A2ADelegationCompletedEvent
from crewai.llms.base_llm import BaseLLM

states = {'completed': 'answered', 'input-required': 'asked', 'failed': 'failed'}


class Script(BaseLLM):
    """Stands in for a model: delegates one text after the other, and then ends the task."""

    def __init__(self, conversation, endpoint):
        super().__init__(model='script')
        self._conversation = conversation
        self._endpoint = endpoint

    def call(self, messages, *args, **more):
        if not self._conversation.texts:
            return json.dumps({'a2a_ids': [], 'message': 'done', 'is_a2a': False})
        text = self._conversation.next_text()
        return json.dumps({'a2a_ids': [self._endpoint], 'message': text, 'is_a2a': True})


current = None


@crewai_event_bus.on(A2ADelegationCompletedEvent)
def hear(source, event):
    current.card = event.a2a_agent_name
    current.hear(states.get(event.status, event.status), event.result or event.error)


def converse(conversation):
    global current
    current = conversation
    endpoint = f'{conversation.agent}/.well-known/agent-card.json'
    remote = A2AClientConfig(
        endpoint=endpoint,
        auth=read_auth(conversation.headers),
        updates=StreamingConfig() if conversation.streams else PollingConfig(interval=0.2),
    )
    model = Script(conversation, endpoint)
    caller = Agent(role='Caller', goal='Asks', backstory='Asks', llm=model, a2a=remote)
    task = Task(description='Ask', expected_output='What was said', agent=caller)
    Crew(agents=[caller], tasks=[task]).kickoff()
    crewai_event_bus.flush()


def read_auth(headers):
    for name, value in headers.items():
        if name == 'Authorization':
            return BearerTokenAuth(token=value.removeprefix('Bearer '))
        return APIKeyAuth(name=name, api_key=value)


serve(converse)
