import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AgentCard, Message, Task, TaskStatus } from '@a2a-js/sdk'
import { AgentCard as AgentCardCodec, Role, TaskState } from '@a2a-js/sdk'
import type { AgentExecutionEvent, AgentExecutor, RequestContext } from '@a2a-js/sdk/server'
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from '@a2a-js/sdk/server'
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import express from 'express'
import { Hono } from 'hono'
import { sayPieces } from '../orders/stream.ts'
import { serveMeasured } from '../servers/child.ts'
import { listenFetch } from '../servers/hono.ts'
import { listenOnFreePort } from '../servers/loopback.ts'

const card: AgentCard = AgentCardCodec.fromJSON({
  name: 'Brief',
  description: 'Answers in one word',
  version: '1.0.0',
  supportedInterfaces: [
    { url: 'https://agents.test/agents/brief/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
  ],
  capabilities: { streaming: true },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
})

interface Setup {
  /** `updates`: a task, an artifact, and the status that ends it. `pieces`: the same with an artifact in three pieces. */
  readonly answer: 'task' | 'message' | 'updates' | 'pieces'
  readonly framework?: 'express' | 'hono'
}

/** One agent, whatever it is called. */
const endpoint = '/agents/:agent/a2a'

type Events = readonly AgentExecutionEvent[] | AsyncIterable<AgentExecutionEvent>

const answers: Readonly<Record<Setup['answer'], (context: RequestContext) => Events>> = {
  task: context => [AgentEvent.task(completeTask(context))],
  message: context => [AgentEvent.message(reply(context))],
  updates: context => [beginTask(context), addPiece(context, 'ok', 0), endTask(context)],
  async *pieces(context) {
    yield beginTask(context)
    let index = 0
    for await (const piece of sayPieces()) yield addPiece(context, piece, index++)
    yield endTask(context)
  },
}

const listeners: Readonly<
  Record<NonNullable<Setup['framework']>, (handler: DefaultRequestHandler) => Promise<number>>
> = {
  express(requestHandler) {
    const app = express()
    app.use(endpoint, jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
    return listenOnFreePort(createServer(app))
  },
  hono: requestHandler => {
    const transport = new JsonRpcTransportHandler(requestHandler)
    const app = new Hono().post(endpoint, async c => {
      const call = new ServerCallContext({ requestedVersion: c.req.header('a2a-version') ?? '' })
      const answer = await transport.handle(await c.req.json(), call)
      if (!(Symbol.asyncIterator in answer)) return c.json(answer)
      return c.body(toEventStream(answer), 200, { 'content-type': 'text/event-stream' })
    })
    return listenFetch(app.fetch)
  },
}

function toEventStream(events: AsyncGenerator<unknown>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await events.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(`data: ${JSON.stringify(value)}\n\n`))
    },
    cancel: () => void events.return(undefined),
  })
}

function beginTask(context: RequestContext): AgentExecutionEvent {
  const status = { ...completed(context), state: TaskState.TASK_STATE_WORKING }
  return AgentEvent.task({ ...completeTask(context), status })
}

function addPiece({ taskId, contextId }: RequestContext, text: string, index: number): AgentExecutionEvent {
  const none = { metadata: undefined, extensions: [] }
  const artifact = { artifactId: 'answer', name: '', description: '', parts: [formatText(text)], ...none }
  return AgentEvent.artifactUpdate({
    taskId,
    contextId,
    artifact,
    append: index > 0,
    lastChunk: false,
    metadata: undefined,
  })
}

function endTask(context: RequestContext): AgentExecutionEvent {
  const { taskId, contextId } = context
  return AgentEvent.statusUpdate({ taskId, contextId, status: completed(context), metadata: undefined })
}

function formatText(value: string): Message['parts'][number] {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: 'text/plain' }
}

function reply({ contextId, taskId }: RequestContext): Message {
  return {
    messageId: randomUUID(),
    contextId,
    taskId,
    role: Role.ROLE_AGENT,
    parts: [formatText('ok')],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  }
}

function completeTask(context: RequestContext): Task {
  return {
    id: context.taskId,
    contextId: context.contextId,
    status: completed(context),
    artifacts: [],
    history: [context.userMessage],
    metadata: undefined,
  }
}

function completed(context: RequestContext): TaskStatus {
  return { state: TaskState.TASK_STATE_COMPLETED, message: reply(context), timestamp: new Date().toISOString() }
}

/** The official SDK: default request handler, store in memory; on Express as its manual sets it up, or on Hono. */
await serveMeasured<Setup>(async ({ answer, framework = 'express' }) => {
  let handled = 0
  const executor: AgentExecutor = {
    async execute(context, bus) {
      handled++
      const events = answers[answer](context)
      if (Symbol.asyncIterator in events) for await (const event of events) bus.publish(event)
      else for (const event of events) bus.publish(event)
      bus.finished()
    },
    cancelTask: async () => undefined,
  }
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor)
  return { port: await listeners[framework](requestHandler), handled: () => handled }
})
