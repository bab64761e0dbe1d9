// Tests webhook agents in Python.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway } from '../setup/gateway.ts'
import type { PythonServer } from './python-server.ts'
import { startPython, startUvicorn, webhookSecret } from './python-server.ts'

const root = resolve(import.meta.dirname, '../../../..')
const secret = webhookSecret

/** Writes the first Python block of the client's README to a file, as its reader does. */
function writeReadmeAgent(): string {
  const readme = readFileSync(join(root, 'clients/python/README.md'), 'utf8')
  const code = /^```python\n# agent.py\n([\s\S]*?)^```$/m.exec(readme)?.[1]
  if (code === undefined) throw new Error('The README of the client has no agent.py')
  const folder = mkdtempSync(join(tmpdir(), 'postern-readme-'))
  writeFileSync(join(folder, 'agent.py'), code)
  return folder
}

let servers: { readonly asgi: PythonServer; readonly fastapi: PythonServer; readonly wsgi: PythonServer }
let gateway: TestGateway

beforeAll(async () => {
  const [asgi, fastapi, wsgi] = await Promise.all([
    startUvicorn(writeReadmeAgent(), 'agent:app'),
    startUvicorn(join(root, 'examples/fastapi'), 'agent:app'),
    startPython([resolve(import.meta.dirname, 'wsgi_agent.py')]),
  ])
  servers = { asgi, fastapi, wsgi }
  const describeHook = (url: string, signedWith = secret) => ({ use: 'webhook', url, secret: signedWith })
  const forgedHooks = { forged: describeHook(asgi.url, 'another'), forged_wsgi: describeHook(wsgi.url, 'another') }
  gateway = await openTestGateway(() => ({
    agents: {
      asgi: describeHook(asgi.url),
      fastapi: describeHook(`${fastapi.url}/agent/`),
      wsgi: describeHook(wsgi.url),
      ...forgedHooks,
    },
  }))
}, 120_000)

afterAll(async () => {
  await gateway?.close()
  for (const server of Object.values(servers ?? {})) server.stop()
})

const sendMessage = (to: string, text: string, overrides: object = {}) =>
  gateway.simulation.send({ via: 'a2a', to, text, ...overrides })

describe('an agent in Python', () => {
  test('from the README answers through its ASGI server, over every channel with a proof', async () => {
    const [post, mail, call] = await Promise.all(
      (['activitypub', 'email', 'a2a'] as const).map(via => sendMessage('asgi', 'häl*lo*', { via })),
    )
    expect(post?.reply?.text).toContain('You said: häl')
    expect(mail?.reply?.text).toContain('Hello You said: häl')
    expect(call?.reply?.text).toBe('Who are you? You said: häl*lo*')
  })

  test('runs in FastAPI, and decides by the sender’s identity', async () => {
    const result = await sendMessage('fastapi', 'order 4711', { via: 'email' })
    expect(result.reply?.text).toContain('Order 4711 is on its way.')
    const stranger = await sendMessage('fastapi', 'order 4711')
    expect([stranger.status, stranger.reply?.text]).toEqual([
      'rejected',
      'I tell that to people whose address is proven.',
    ])
    expect(await (await fetch(`${servers.fastapi.url}/orders/4712`)).json()).toMatchObject({ number: '4712' })
  })

  test('answers through its WSGI server with a complete reply, and gets the history', async () => {
    const first = await sendMessage('wsgi', 'one', { via: 'email' })
    expect(first.reply?.text).toMatch(/ by email after \[\]/)
    const next = await sendMessage('wsgi', 'two', { via: 'email', thread: first.thread })
    expect(next.reply?.text).toContain("after ['user', 'assistant']")
    const [message] = await gateway.messages()
    expect(await gateway.readMessage(message?.id ?? '')).toMatchObject({
      response: { usage: [{ model: 'small', input_tokens: 3, output_tokens: 4, total_tokens: 7 }] },
    })
  })

  test('gets another call with the same id when it asks for one, and none after a final failure', async () => {
    const replyBefore = await sendMessage('wsgi', 'calls')
    const secondResult = await sendMessage('wsgi', 'later')
    expect(secondResult.reply?.text).toMatch(/ by a2a after \[\]$/)
    const failedResult = await sendMessage('wsgi', 'failed')
    expect(failedResult.status).toBe('failed')
    expect(failedResult.reply?.text ?? '').not.toContain('no such order')
    const replyAfter = await sendMessage('wsgi', 'calls')
    const [calls = 0, turns = 0] = (replyAfter.reply?.text ?? '').match(/\d+/g)?.map(Number) ?? []
    const [callsBefore = 0, turnsBefore = 0] = (replyBefore.reply?.text ?? '').match(/\d+/g)?.map(Number) ?? []
    expect([calls - callsBefore, turns - turnsBefore]).toEqual([4, 3])
  })

  test('sends no answer when the handler returns None', async () => {
    expect((await sendMessage('wsgi', 'nothing', { via: 'activitypub', timeoutMs: 300 })).status).toBe('no_reply')
  })

  test.each([
    ['forged', 'asgi'],
    ['forged_wsgi', 'wsgi'],
  ] as const)('refuses calls of a gateway with another secret (%s)', async (agent, server) => {
    const { status, reply } = await sendMessage(agent, 'hello')
    expect(status).toBe('failed')
    expect(reply?.text ?? '').not.toContain('You said')
    expect(servers[server].log()).toContain('No webhook-signature of the call was made with the secret')
  })
})
