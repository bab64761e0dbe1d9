import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { createGuardedFetch } from '@postern/http'
import { noLog } from '@postern/message'
import { expect, onTestFinished, test } from 'vitest'
import { createMcpConnection } from './connection.ts'

interface Answer {
  readonly status: number
  readonly body: object
}

/** Opens a server that records each call of its tool, and whose first answer to a call is `first`. */
async function openActingServer(first: Answer, structuredContent?: object) {
  const runs: unknown[] = []
  const server = createServer(async (request, response) => {
    const { id, method } = (await json(request)) as { readonly id?: number; readonly method: string }
    const answer = (status: number, body: object) => {
      response.writeHead(status, { 'content-type': 'application/json', 'mcp-session-id': 'one' })
      response.end(JSON.stringify({ jsonrpc: '2.0', id, ...body }))
    }
    if (id === undefined) return response.writeHead(202).end()
    if (method === 'initialize') {
      const serverInfo = { name: 'acting', version: '1' }
      return answer(200, { result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } })
    }
    runs.push(method)
    if (runs.length === 1) return answer(first.status, first.body)
    return answer(200, { result: { content: [{ type: 'text', text: 'done' }], structuredContent } })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const system = {
    fetchFor: (origin: string) => createGuardedFetch({ allowPrivate: [origin], userAgent: 'Postern tests' }),
  }
  const connection = createMcpConnection({ url }, { system, baseDir: '.', log: noLog })
  onTestFinished(() => connection.close())
  return { runs, connection, call: () => connection.use(client => client.callTool({ name: 'pay', arguments: {} })) }
}

test.each([400, 404, -32_000])('a tool that failed with the code %i does not run again', async code => {
  const { runs, call } = await openActingServer({ status: 200, body: { error: { code, message: 'no such order' } } })
  await expect(call()).rejects.toThrow('no such order')
  expect(runs).toEqual(['tools/call'])
})

test.each([400, 404])(
  'a call that the transport refuses with %i, before it runs, repeats in a new session',
  async status => {
    const { runs, call } = await openActingServer({ status, body: {} })
    expect(await call()).toMatchObject({ content: [{ text: 'done' }] })
    expect(runs).toEqual(['tools/call', 'tools/call'])
  },
)

test.each([401, 403, 429, 500, 503])('a call that fails with the status %i does not run again', async status => {
  const { runs, call } = await openActingServer({ status, body: {} })
  await expect(call()).rejects.toThrow()
  expect(runs).toEqual(['tools/call'])
})

test('a pattern in the schema of a result does not execute', async () => {
  const structuredContent = { x: `${'a'.repeat(40)}!` }
  const outputSchema = { type: 'object', properties: { x: { type: 'string', pattern: '^(?:a+)+$' } }, required: ['x'] }
  const tools = [{ name: 'pay', inputSchema: { type: 'object' }, outputSchema }]
  const { connection, call } = await openActingServer({ status: 200, body: { result: { tools } } }, structuredContent)
  await connection.use(client => client.listTools())
  expect(await call()).toMatchObject({ structuredContent })
})
