import type { Socket } from 'node:net'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway, operatorToken, testIntakeSecret } from '../setup/gateway.ts'

// These tests check that all endpoints read bodies within one budget of bytes, and only after the cheap checks.

const perNetwork = 150_000
let gateway: TestGateway
let a2aToken = ''

beforeAll(async () => {
  gateway = await openTestGateway(() => ({ limits: { held_bytes: 2 * perNetwork } }))
  a2aToken = await gateway.simulation.a2a.token()
})
afterAll(() => gateway.close())

interface OpenRequest {
  readonly socket: Socket
  readResponse(): string
}

const networks = Array.from({ length: 100 }, (_, index) => `198.51.100.${index}`)
/** Each test uses networks of its own, so that no test uses up the budget of another one. */
const nextNetwork = () => networks.pop() ?? ''

/** Sends the header of a request and this many bytes of its body. */
function beginRequest(
  lines: readonly string[],
  { client, declaredBytes, sentBytes }: { client: string; declaredBytes: number; sentBytes: number },
) {
  return new Promise<OpenRequest>((resolve, reject) => {
    let text = ''
    const socket = connect(Number(new URL(gateway.url()).port), '127.0.0.1')
    socket.on('data', data => (text += data.toString('latin1')))
    socket.on('error', reject)
    const head = [...lines, 'host: agents.test', `x-forwarded-for: ${client}`, `content-length: ${declaredBytes}`]
    socket.write(`${head.join('\r\n')}\r\n\r\n`)
    socket.write(Buffer.alloc(sentBytes, 32), () => resolve({ socket, readResponse: () => text }))
  })
}

const describeSignedHead = (date: Date) => [
  'POST /inbox HTTP/1.1',
  'content-type: application/activity+json',
  `date: ${date.toUTCString()}`,
  `digest: SHA-256=${'A'.repeat(43)}=`,
  `signature: keyId="https://mastodon.test/users/alice#main-key",algorithm="rsa-sha256",headers="(request-target) host date digest",signature="${'A'.repeat(342)}=="`,
]

const endpoints: Readonly<Record<string, () => readonly string[]>> = {
  'the inbox': () => describeSignedHead(new Date()),
  'A2A over JSON-RPC': () => [
    'POST /agents/echo/a2a HTTP/1.1',
    'content-type: application/json',
    `authorization: Bearer ${a2aToken}`,
  ],
  'A2A over HTTP+JSON': () => [
    'POST /agents/echo/a2a/rest/message:send HTTP/1.1',
    'a2a-version: 1.0',
    'content-type: application/json',
    `authorization: Bearer ${a2aToken}`,
  ],
  'the mail intake': () => [
    'POST /email/inbound?to=echo@agents.test HTTP/1.1',
    'content-type: message/rfc822',
    `authorization: Bearer ${testIntakeSecret}`,
  ],
  "the operator's API": () => [
    'POST /operator/api/transcript?format=envelope&thread=t HTTP/1.1',
    'content-type: application/json',
    `authorization: Bearer ${operatorToken}`,
  ],
}

describe.each(Object.keys(endpoints))('%s', name => {
  const lines = () => endpoints[name]?.() ?? []

  test('limits the bodies of one network to its share of the budget', async () => {
    const client = nextNetwork()
    const firstLine = await beginRequest(lines(), { client, declaredBytes: 200_000, sentBytes: 120_000 })
    const secondLine = await beginRequest(lines(), { client, declaredBytes: 200_000, sentBytes: 120_000 })
    await expect
      .poll(() => `${firstLine.readResponse()}${secondLine.readResponse()}`)
      .toContain('too many large ones are on their way')
    // A client that disconnects frees its share of the budget.
    for (const { socket } of [firstLine, secondLine]) socket.destroy()
    await expect
      .poll(async () => {
        const small = await beginRequest(lines(), { client, declaredBytes: 60_000, sentBytes: 60_000 })
        await expect.poll(small.readResponse).not.toBe('')
        small.socket.destroy()
        return small.readResponse()
      })
      .not.toContain('too many large ones')
  })
})

test.each([
  ['with a signature of last week', describeSignedHead(new Date(Date.now() - 7 * 86_400_000)), 401],
  ['with a signature that is none', [...describeSignedHead(new Date()).slice(0, 4), 'signature: no'], 401],
  ['of another content type', ['POST /inbox HTTP/1.1', 'content-type: text/html'], 415],
  ['to no agent', ['POST /agents/nobody/inbox HTTP/1.1', 'content-type: application/activity+json'], 404],
])('the gateway refuses a delivery %s before it reads the body', async (_, lines, status) => {
  const request = await beginRequest(lines as readonly string[], {
    client: nextNetwork(),
    declaredBytes: 900_000,
    sentBytes: 1,
  })
  await expect.poll(request.readResponse).toContain(`HTTP/1.1 ${status} `)
  request.socket.destroy()
})

test('the gateway reads an unsigned delivery before it refuses it, because the body may contain a proof', async () => {
  const lines = ['POST /inbox HTTP/1.1', 'content-type: application/activity+json']
  const request = await beginRequest(lines, { client: nextNetwork(), declaredBytes: 9_000, sentBytes: 9_000 })
  await expect.poll(request.readResponse).toContain('HTTP/1.1 401 ')
  request.socket.destroy()
})

test('strangers who use up their share of the budget do not keep others out', async () => {
  const client = nextNetwork()
  const large = await beginRequest(endpoints['the inbox']?.() ?? [], {
    client,
    declaredBytes: 500_000,
    sentBytes: 140_000,
  })
  const answer = await gateway.simulation.fediverse.deliver({
    to: '@echo@agents.test',
    from: 'alice@mastodon.test',
    text: 'hello',
  })
  expect(answer.status).toBe(202)
  large.socket.destroy()
})
