import { hash } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:http'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { StartedGateway } from '../../src/testing/index.ts'
import { startGateway } from '../../src/testing/index.ts'

const key = 'key-of-the-tests'
let gateway: StartedGateway
let server: Server

interface Called {
  readonly parts: readonly { readonly bytes_ref?: { readonly url?: string } }[]
}

/** Fetches the first file of a message, as an agent on this machine does, and reports the origin and content. */
async function readFirstFile({ parts }: Called): Promise<string> {
  const url = parts.flatMap(({ bytes_ref }) => bytes_ref?.url ?? [])[0] ?? ''
  const response = await fetch(url)
  return `${new URL(url).origin} ${response.status} ${await response.text()}`
}

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const text = await readFirstFile((await json(request)) as Called)
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ text }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const settings = {
    agents: {
      reader: { use: 'webhook', url, secret: 'secret-of-the-webhook' },
    },
    a2a: { auth: { api_keys: [{ name: 'tester', sha256: hash('sha256', key) }] } },
  } as const
  gateway = await startGateway({ folder: import.meta.dirname, settings })
})
afterAll(async () => {
  await gateway.stop()
  server.close()
})

test('a webhook agent in dev mode gets URLs of files on the local gateway', async () => {
  const raw = Buffer.from('what the file says').toString('base64')
  const message = { messageId: 'file-1', role: 'ROLE_USER', parts: [{ raw, mediaType: 'text/plain' }] }
  const response = await fetch(`${gateway.url}/agents/reader/a2a/rest/message:send`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-api-key': key },
    body: JSON.stringify({ message }),
  })
  expect(await response.text()).toContain(`${gateway.url} 200 what the file says`)
})
