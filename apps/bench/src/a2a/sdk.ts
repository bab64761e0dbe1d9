// Serves an agent with the official A2A SDK, on Express or Hono, for comparison.
import { createServer } from 'node:http'
import type { AgentCard } from '@a2a-js/sdk'
import { AgentCard as AgentCardCodec } from '@a2a-js/sdk'
import type { AgentExecutor } from '@a2a-js/sdk/server'
import {
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
import { listenOnFreePort } from '../servers/loopback.ts'
import type { SdkAnswer } from './sdk-answers.ts'
import { sdkAnswers } from './sdk-answers.ts'

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
  readonly answer: SdkAnswer
  readonly framework?: 'express' | 'hono'
  /** The SDK's task store: in memory (default), or on disk. */
  readonly store?: 'memory' | 'disk'
}

/** The path of an agent of any name. */
const endpoint = '/agents/:agent/a2a'

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
      const callContext = new ServerCallContext({ requestedVersion: c.req.header('a2a-version') ?? '' })
      const answer = await transport.handle(await c.req.json(), callContext)
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

/** The database is loaded only if it is used, so that the SDK with its store in memory starts as it does without the database. */
const stores = {
  memory: async () => ({ store: new InMemoryTaskStore(), close() {} }),
  disk: async () => (await import('./sdk-database.ts')).openDatabaseTaskStore(),
} as const

/** The official SDK with its default request handler; on Express as its manual sets it up, or on Hono. */
await serveMeasured<Setup>(async ({ answer, framework = 'express', store: kind = 'memory' }) => {
  const { store, close } = await stores[kind]()
  let handledCount = 0
  const executor: AgentExecutor = {
    async execute(context, bus) {
      handledCount++
      const events = sdkAnswers[answer](context)
      if (Symbol.asyncIterator in events) for await (const event of events) bus.publish(event)
      else for (const event of events) bus.publish(event)
      bus.finished()
    },
    cancelTask: async () => undefined,
  }
  const requestHandler = new DefaultRequestHandler(card, store, executor)
  return { port: await listeners[framework](requestHandler), handled: () => handledCount, close }
})
