// Tests a Pydantic AI agent behind AG-UI.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway } from '../setup/gateway.ts'
import type { PythonServer } from './python-server.ts'
import { startUvicorn } from './python-server.ts'

let server: PythonServer
let gateway: TestGateway

beforeAll(async () => {
  server = await startUvicorn(import.meta.dirname, 'agui_agent:app')
  gateway = await openTestGateway(() => ({
    agents: {
      shop: { use: 'ag-ui', url: `${server.url}/` },
      broken: { use: 'ag-ui', url: `${server.url}/broken` },
      lost: { use: 'ag-ui', url: `${server.url}/nowhere` },
    },
  }))
}, 120_000)

afterAll(async () => {
  await gateway?.close()
  server?.stop()
})

const sendMessage = (to: string, text: string, overrides: object = {}) =>
  gateway.simulation.send({ via: 'a2a', to, text, ...overrides })

describe('a Pydantic AI agent behind AG-UI', () => {
  test('answers by mail and on the fediverse, with the earlier messages', async () => {
    const first = await sendMessage('shop', 'hello', { via: 'email' })
    expect(first.reply?.text).toContain('You said 1 things, the last one was: hello')
    const second = await sendMessage('shop', 'and again', { via: 'email', thread: first.thread })
    expect(second.reply?.text).toContain('You said 2 things, the last one was: and again')
    const post = await sendMessage('shop', 'hello', { via: 'activitypub' })
    expect(post.reply?.text).toContain('You said 1 things')
  })

  test('calls its own tool, and the record of the message shows the call', async () => {
    const { reply } = await sendMessage('shop', 'What is in stock?')
    expect(reply?.text).toBe('There are 4 left.')
    const [message] = await gateway.messages()
    expect(await gateway.readMessage(message?.id ?? '')).toMatchObject({
      response: { trace: [{ id: 'call_1', name: 'count_stock', args: { what: 'cake' }, result: 4 }] },
    })
  })

  test('fails the turn if it raises or is missing, and the sender learns no reason', async () => {
    for (const agent of ['broken', 'lost']) {
      const { status, reply } = await sendMessage(agent, 'hello')
      expect(status).toBe('failed')
      expect(reply?.text ?? '').not.toMatch(/hunter2|404/)
    }
  })
})
