import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
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
import { serveMeasured } from '../servers/child.ts'
import { listenFetch } from '../servers/hono.ts'

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
  /** `updates`: a task, an artifact, and the status that ends it. */
  readonly answer: 'task' | 'message' | 'updates'
  readonly framework?: 'express' | 'hono'
}

const endpoint = '/agents/brief/a2a'

const answers: Readonly<Record<Setup['answer'], (context: RequestContext) => readonly AgentExecutionEvent[]>> = {
  task: context => [AgentEvent.task(completeTask(context))],
  message: context => [AgentEvent.message(reply(context))],
  updates: context => {
    const { taskId, contextId } = context
    const task = { ...completeTask(context), status: { ...completed(context), state: TaskState.TASK_STATE_WORKING } }
    const artifact = {
      artifactId: 'answer',
      name: '',
      description: '',
      parts: reply(context).parts,
      metadata: undefined,
      extensions: [],
    }
    const ids = { taskId, contextId, metadata: undefined }
    return [
      AgentEvent.task(task),
      AgentEvent.artifactUpdate({ ...ids, artifact, append: false, lastChunk: true }),
      AgentEvent.statusUpdate({ ...ids, status: completed(context) }),
    ]
  },
}

const listeners: Readonly<
  Record<NonNullable<Setup['framework']>, (handler: DefaultRequestHandler) => Promise<number>>
> = {
  async express(requestHandler) {
    const app = express()
    app.use(endpoint, jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
    const server = createServer(app)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    return (server.address() as AddressInfo).port
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

function reply({ contextId, taskId }: RequestContext): Message {
  return {
    messageId: randomUUID(),
    contextId,
    taskId,
    role: Role.ROLE_AGENT,
    parts: [{ content: { $case: 'text', value: 'ok' }, metadata: undefined, filename: '', mediaType: 'text/plain' }],
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
      for (const event of answers[answer](context)) bus.publish(event)
      bus.finished()
    },
    cancelTask: async () => undefined,
  }
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor)
  return { port: await listeners[framework](requestHandler), handled: () => handled }
})
