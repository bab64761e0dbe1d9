import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { WebGateway } from '../setup/web-gateway.ts'
import { openWebGateway } from '../setup/web-gateway.ts'

// These tests let a webhook at a private address name a file of its own, which nobody else can fetch there.

const bytes = Buffer.from('%PDF-1.7 the plans')
let server: Server
let origin = ''
let web: WebGateway

beforeAll(async () => {
  server = createServer((request, response) => {
    if (request.method === 'GET') return response.writeHead(200, { 'content-type': 'application/pdf' }).end(bytes)
    const parts = [
      { kind: 'text', content: 'Here are the plans.' },
      { kind: 'file', bytes_ref: { kind: 'url', url: `${origin}/plans.pdf` } },
    ]
    return response.writeHead(200).end(JSON.stringify({ parts }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const planner = { use: 'webhook', url: `${origin}/hook`, secret: 'whsec_c2hhcmVkIHNlY3JldCBvZiBib3RoIHNpZGVz' }
  web = await openWebGateway({}, { agents: { planner }, default_agent: 'planner' })
})
afterAll(async () => {
  await web.close()
  server.closeAllConnections()
  server.close()
})

const fetchLocal = async (link: string) => Buffer.from(await (await fetch(web.local(link))).arrayBuffer())

test.each<['activitypub' | 'a2a' | 'email', (raw: string) => unknown]>([
  ['activitypub', raw => fetchLocal(/https:[^"]*\/attachments\/[^"]*/.exec(raw)?.[0] ?? '')],
  ['a2a', raw => Buffer.from(JSON.parse(/\{"type":"Buffer","data":(\[[^\]]*\])/.exec(raw)?.[1] ?? '[]'))],
  ['email', raw => Buffer.from(/filename=plans\.pdf(?:\\r\\n)+([\w+/=]+)/.exec(raw)?.[1] ?? '', 'base64')],
])('people receive the bytes of a file by %s', async (via, readBytes) => {
  const { reply } = await web.gateway.simulation.send({ via, to: 'planner', text: 'The plans, please.' })
  const raw = JSON.stringify(reply?.raw)
  expect(await readBytes(raw)).toEqual(bytes)
  expect(raw).not.toContain(origin)
})

test('people receive a link to a file in the chat, which the gateway serves', async () => {
  const threadId = 'own-files'
  await web.runChat('The plans, please.', { threadId })
  const row = (await web.readHistory(threadId)).find(({ role }) => role === 'assistant')
  const [, link = ''] = /\[plans\.pdf\]\((https:[^)]*)\)/.exec(row?.content ?? '') ?? []
  expect(await fetchLocal(link)).toEqual(bytes)
  expect(JSON.stringify(row)).not.toContain(origin)
})
