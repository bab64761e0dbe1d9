// Lists the steps that every proxy must pass.
import { deepStrictEqual, doesNotMatch, match, ok } from 'node:assert/strict'
import type { OurGateway } from '../our-gateway.ts'
import type { ExamStep } from '../run-steps.ts'
import { requestThroughProxy } from './client.ts'

interface ProxySetup {
  readonly gateway: OurGateway
}

export const proxyCallerKey = 'key-of-the-caller-by-a-proxy'

/** The steps that every proxy in front of the gateway must pass. */
export const proxySteps: readonly ExamStep<ProxySetup>[] = [
  { name: 'the whole host is passed on: WebFinger, agent cards, actors', run: passOn },
  { name: 'metrics and the operator are kept in, however their paths are written', run: keepIn },
  { name: 'the gateway knows the address of a client, and believes none that a client claims', run: knowClient },
  { name: 'a stream comes as it is made', run: stream },
  { name: 'a mail of 20 MiB is passed on', run: passLarge },
  { name: 'plain HTTP is sent to TLS', run: redirect },
]

async function passOn(): Promise<void> {
  const answer = await requestThroughProxy({ path: '/.well-known/webfinger?resource=acct:echo@agents.test' })
  deepStrictEqual(
    [answer.status, (JSON.parse(answer.text) as { subject: string }).subject],
    [200, 'acct:echo@agents.test'],
  )
  const card = await requestThroughProxy({ path: '/agents/echo/.well-known/agent-card.json' })
  match(card.text, /"name":"Echo"/)
  const actor = await requestThroughProxy({ path: '/agents/echo', headers: { accept: 'application/activity+json' } })
  match(actor.text, /"preferredUsername":"echo"/)
}

const insidePaths = ['/metrics', '/operator/api/keys', '/operator']
const spellings: readonly ((path: string) => string)[] = [
  path => path,
  path => `/${path}`,
  path => `/.${path}`,
  path => `/agents/..${path}`,
  path => path.replace('o', '%6f').replace('e', '%65'),
  path => `${path}?x=1`,
  path => `${path}/`,
  path => `/agents/%2e%2e${path}`,
  path => `/agents/..%2f${path.slice(1)}`,
]

/** Checks that the gateway itself answers at these paths, and that the proxy passes on none of their spellings. */
async function keepIn(): Promise<void> {
  const direct = await Promise.all(insidePaths.slice(0, 2).map(path => requestThroughProxy({ path, isInside: true })))
  deepStrictEqual(
    direct.map(({ status }) => status),
    [200, 401],
  )
  for (const path of insidePaths.flatMap(insidePath => spellings.map(spell => spell(insidePath)))) {
    const { status, text } = await requestThroughProxy({ path })
    ok([400, 404].includes(status), `${path} is answered ${status}`)
    doesNotMatch(text, /postern_|operator token/i, path)
  }
}

async function knowClient({ gateway }: ProxySetup): Promise<void> {
  const client = '127.0.0.77'
  const headers = {
    'content-type': 'application/activity+json',
    'x-forwarded-for': '203.0.113.9',
    forwarded: 'for=203.0.113.9',
  }
  const countFrom = async (address: string) => (await gateway.refusals()).filter(({ from }) => from === address).length
  const countBefore = await countFrom(client)
  const { status } = await requestThroughProxy({
    method: 'POST',
    path: '/agents/echo/inbox',
    headers,
    body: '{}',
    from: client,
  })
  deepStrictEqual(status, 401)
  deepStrictEqual([await countFrom(client), await countFrom('203.0.113.9')], [countBefore + 1, 0])
}

/** Checks that a stream is passed on at once: the agent works for three seconds, and its start must be reported before. */
async function stream(): Promise<void> {
  const { status, text, spreadMs } = await requestThroughProxy({
    method: 'POST',
    path: '/agents/patient/a2a/rest/message:stream',
    headers: { 'content-type': 'application/json', 'a2a-version': '1.0', 'x-api-key': proxyCallerKey },
    body: JSON.stringify({ message: { messageId: `m${Date.now()}`, role: 'ROLE_USER', parts: [{ text: 'Hello' }] } }),
  })
  deepStrictEqual(status, 200)
  match(text, /Let me think\./)
  ok(spreadMs > 1_500, `all of it came within ${spreadMs} ms`)
}

async function passLarge(): Promise<void> {
  // A sender without a proof may have 64 MiB stored, and each proxy passes this mail on.
  const sender = `a${Date.now()}@people.test`
  const { status } = await requestThroughProxy({
    method: 'POST',
    path: `/email/inbound?from=${sender}&to=echo@agents.test`,
    headers: { 'content-type': 'message/rfc822', authorization: `Bearer ${intakeSecret}` },
    body: `From: ${sender}\r\nTo: echo@agents.test\r\nMessage-ID: <${Date.now()}@people.test>\r\n\r\n${'x'.repeat(76).concat('\r\n').repeat(270_000)}`,
  })
  deepStrictEqual(status, 200)
}

export const intakeSecret = 'intake-secret-of-the-proxy-exam'

async function redirect(): Promise<void> {
  const response = await fetch('http://127.0.0.1/agents/echo', { redirect: 'manual', headers: { host: 'agents.test' } })
  ok([301, 308].includes(response.status), `answered ${response.status}`)
  match(response.headers.get('location') ?? '', /^https:/)
}
