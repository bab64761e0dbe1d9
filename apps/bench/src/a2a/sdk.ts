import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { AgentCard, Message, Task } from '@a2a-js/sdk'
import { AgentCard as AgentCardCodec, Role, TaskState } from '@a2a-js/sdk'
import type { AgentExecutor, RequestContext } from '@a2a-js/sdk/server'
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import express from 'express'
import { serveMeasured } from '../harness/server-child.ts'

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

/** The official SDK as its manual sets it up: Express, default request handler, store in memory. */
await serveMeasured<{ readonly answer: 'task' | 'message' }>(async ({ answer }) => {
  let handled = 0
  const executor: AgentExecutor = {
    async execute(context, bus) {
      handled++
      bus.publish(answer === 'task' ? AgentEvent.task(completeTask(context)) : AgentEvent.message(reply(context)))
      bus.finished()
    },
    cancelTask: async () => undefined,
  }
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor)
  const app = express()
  app.use('/agents/brief/a2a', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
  const server = createServer(app)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return { port: (server.address() as AddressInfo).port, handled: () => handled }
})

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
    status: { state: TaskState.TASK_STATE_COMPLETED, message: reply(context), timestamp: new Date().toISOString() },
    artifacts: [],
    history: [context.userMessage],
    metadata: undefined,
  }
}
