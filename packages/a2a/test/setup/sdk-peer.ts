// Serves an agent with the official server of A2A.
import { randomUUID } from 'node:crypto'
import type { Message, Task } from '@a2a-js/sdk'
import { AgentCard, Role, TaskState } from '@a2a-js/sdk'
import type { AgentExecutor, ExecutionEventBus, RequestContext } from '@a2a-js/sdk/server'
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from '@a2a-js/sdk/server'
import type { TestPeer } from './peer.ts'

/**
 * An agent of the official server, in the style of its authors. It first publishes the given task, asks for a city, and answers with the
 * weather there.
 */
const weather: AgentExecutor = {
  async execute(context, bus) {
    bus.publish(AgentEvent.task(context.task ?? beginTask(context)))
    publishStatus(context, bus, TaskState.TASK_STATE_WORKING)
    await new Promise(resolve => setTimeout(resolve, 20))
    if (!context.task) publishStatus(context, bus, TaskState.TASK_STATE_INPUT_REQUIRED, 'Which city?')
    else {
      publishArtifact(context, bus, `Sunny in ${textOf(context.userMessage)}`)
      publishStatus(context, bus, TaskState.TASK_STATE_COMPLETED)
    }
    bus.finished()
  },
  cancelTask: async () => undefined,
}

/** Serves the official server at the peer's endpoint. */
export function serveWeather(peer: TestPeer, { streams }: { readonly streams: boolean }): void {
  peer.card.capabilities = { streaming: streams }
  const handler = new JsonRpcTransportHandler(
    new DefaultRequestHandler(AgentCard.fromJSON(peer.card), new InMemoryTaskStore(), weather),
  )
  peer.pages.set('/rpc', ({ body, headers }) => {
    const isStream = body.method === 'SendStreamingMessage'
    const context = new ServerCallContext({ requestedVersion: String(headers['a2a-version']) })
    return {
      ...(isStream && { headers: { 'content-type': 'text/event-stream' } }),
      async write(response) {
        const answer = await handler.handle(JSON.stringify(body), context)
        if (!(Symbol.asyncIterator in answer)) {
          response.end(JSON.stringify(answer))
          return
        }
        for await (const event of answer) response.write(`data: ${JSON.stringify(event)}\n\n`)
        response.end()
      },
    }
  })
}

function beginTask({ taskId, contextId, userMessage }: RequestContext): Task {
  const status = { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: new Date().toISOString() }
  return { id: taskId, contextId, status, artifacts: [], history: [userMessage], metadata: undefined }
}

function publishStatus(
  { taskId, contextId }: RequestContext,
  bus: ExecutionEventBus,
  state: TaskState,
  text?: string,
): void {
  const message = text === undefined ? undefined : publishMessage(text, { taskId, contextId })
  const status = { state, message, timestamp: new Date().toISOString() }
  bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status, metadata: undefined }))
}

function publishArtifact({ taskId, contextId }: RequestContext, bus: ExecutionEventBus, text: string): void {
  const artifact = {
    artifactId: randomUUID(),
    name: 'forecast',
    description: '',
    parts: publishMessage(text, { taskId, contextId }).parts,
    metadata: undefined,
    extensions: [],
  }
  bus.publish(
    AgentEvent.artifactUpdate({ taskId, contextId, artifact, append: false, lastChunk: true, metadata: undefined }),
  )
}

function publishMessage(text: string, ids: Pick<Message, 'taskId' | 'contextId'>): Message {
  const content = { $case: 'text', value: text } as const
  const part = { content, metadata: undefined, filename: '', mediaType: '' }
  const role = Role.ROLE_AGENT
  return {
    messageId: randomUUID(),
    ...ids,
    role,
    parts: [part],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  }
}

function textOf({ parts }: Message): string {
  return parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')
}
