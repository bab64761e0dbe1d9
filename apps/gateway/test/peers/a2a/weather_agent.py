"""Serves an agent of the a2a-sdk package in the style of its authors. Usage: weather_agent.py PORT ORIGIN"""

import asyncio
import sys

import uvicorn
from a2a.helpers import new_task_from_user_message, new_text_part
from a2a.server.agent_execution import AgentExecutor
from a2a.server.request_handlers import DefaultRequestHandler
from a2a.server.routes import create_agent_card_routes, create_jsonrpc_routes
from a2a.server.tasks import InMemoryTaskStore, TaskUpdater
from a2a.types import AgentCapabilities, AgentCard, AgentInterface, AgentSkill
from starlette.applications import Starlette


class Weather(AgentExecutor):
    """Asks for a city, for Rome also for a day, and answers with the weather in two pieces."""

    async def execute(self, context, event_queue):
        text = context.get_user_input()
        task = context.current_task
        is_new = task is None
        if is_new:
            task = new_task_from_user_message(context.message)
        # Many executors also publish a given task, which then still waits for its input.
        if is_new or 'again' in text:
            await event_queue.enqueue_event(task)
        updater = TaskUpdater(event_queue, task.id, task.context_id)
        await updater.start_work()
        if is_new or 'Rome' in text:
            question = 'Which city?' if is_new else 'Which day?'
            await updater.requires_input(updater.new_agent_message([new_text_part(question)]))
            return
        await asyncio.sleep(0.3)
        await updater.add_artifact([new_text_part('Sunny ')], artifact_id='forecast')
        await updater.add_artifact([new_text_part(f'({text})')], artifact_id='forecast', append=True, last_chunk=True)
        await updater.complete()

    async def cancel(self, context, event_queue):
        await TaskUpdater(event_queue, context.task_id, context.context_id).cancel()


def describe_card(origin, path, streams):
    return AgentCard(
        name='Wetter für Zürich',
        description='Tells the weather',
        version='1',
        supported_interfaces=[
            AgentInterface(url=f'{origin}{path}/rpc', protocol_binding='JSONRPC', protocol_version='1.0')
        ],
        capabilities=AgentCapabilities(streaming=streams),
        default_input_modes=['text/plain'],
        default_output_modes=['text/plain'],
        skills=[AgentSkill(id='weather', name='Weather', description='Tells it', tags=['weather'])],
    )


def list_routes(origin, path, streams):
    card = describe_card(origin, path, streams)
    handler = DefaultRequestHandler(agent_executor=Weather(), task_store=InMemoryTaskStore(), agent_card=card)
    return [
        *create_agent_card_routes(card, card_url=f'{path}/card'),
        *create_jsonrpc_routes(handler, f'{path}/rpc'),
    ]


port, origin = sys.argv[1:]
routes = [*list_routes(origin, '/streams', True), *list_routes(origin, '/plain', False)]
uvicorn.run(Starlette(routes=routes), host='127.0.0.1', port=int(port), log_level='warning')
