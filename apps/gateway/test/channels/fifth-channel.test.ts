import { createHmac } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as readText } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { channelModules } from '../../src/channels.ts'
import { parseConfig } from '../../src/config/read-config.ts'
import { createConfigSchema } from '../../src/config/schema.ts'
import type { TestGateway } from '../setup/gateway.ts'
import { eventually, openTestGateway } from '../setup/gateway.ts'
import { ticker } from './ticker/index.ts'

// A channel is one folder (ticker) and one entry in a list (the next line). Nothing else knows of it.
const modules = [...channelModules, ticker]

const secret = 'sixteen or more characters'
const texts: string[] = []
const peer = createServer(async (request, response) => {
  texts.push(await readText(request))
  response.writeHead(204).end()
})
let gateway: TestGateway

beforeAll(async () => {
  await new Promise<void>(resolve => peer.listen(0, '127.0.0.1', resolve))
  const { port } = peer.address() as AddressInfo
  gateway = await openTestGateway(
    ({ network }) => ({ ticker: { secret }, network: { loopback: { ...network.loopback, 'desk.test': port } } }),
    modules,
  )
})
afterAll(async () => {
  await gateway.close()
  peer.close()
})

function postSlip(slip: object, signature?: string, agent = 'echo'): Promise<Response> {
  const body = JSON.stringify({ from: '@ann@desk.test', reply: 'https://desk.test/slips', ...slip })
  const ownSignature = createHmac('sha256', secret).update(body).digest('hex')
  return fetch(`${gateway.url()}/ticker/${agent}`, {
    method: 'POST',
    headers: { 'x-seal': signature ?? ownSignature },
    body,
  })
}

describe('an invented fifth channel', () => {
  test('verifies a message, stores it, passes it to the agent, and delivers the answer', async () => {
    expect((await postSlip({ id: 's1', text: 'what is up?' })).status).toBe(202)
    await eventually(async () => texts.length > 0)
    expect(JSON.parse(texts[0] ?? '')).toEqual({ text: expect.stringContaining('what is up?') })
    const [summary] = (await gateway.messages()).filter(({ id }) => id === 's1')
    expect(summary).toMatchObject({ via: 'ticker', agent: 'echo', state: 'answered' })
    const { message } = await gateway.readMessage('s1')
    expect(message).toMatchObject({
      received_via: 'ticker',
      sender: {
        address: '@ann@desk.test',
        verified: true,
        identities: [{ method: 'urn:mentionable:auth:ticker-seal:v0.1', proof: { type: 'transport' } }],
      },
    })
    const deliveries = (await gateway.deliveries()).filter(({ to }) => to === 'https://desk.test/slips')
    expect(deliveries).toMatchObject([{ state: 'sent' }])
  })

  test('gives a repeated message the same answer', async () => {
    const countBefore = texts.length
    for (const _ of [1, 2]) expect((await postSlip({ id: 's2', text: 'once' })).status).toBe(202)
    await eventually(async () => texts.length > countBefore)
    await postSlip({ id: 's3', text: 'and then' })
    await eventually(async () => texts.length > countBefore + 1)
    expect(texts.slice(countBefore)).toHaveLength(2)
  })

  test.each([
    ['no seal', '', 'unsigned'],
    ['a seal of another secret', 'f'.repeat(64), 'signature_invalid'],
  ])('refuses %s, and shows it to the operator', async (_, seal, code) => {
    const response = await postSlip({ id: `bad ${code}`, text: 'forged' }, seal)
    expect([response.status, await response.json()]).toMatchObject([401, { code }])
    const { items: refusals } = await gateway.requestOperator<{ items: readonly object[] }>('/refusals')
    expect(refusals).toContainEqual(expect.objectContaining({ via: 'ticker', code }))
  })

  test('appears in the card of an agent, in the directory and on the page', async () => {
    const readText = async (path: string) => (await fetch(gateway.url() + path)).text()
    expect(JSON.parse(await readText('/.well-known/agent-card/echo'))).toMatchObject({
      mentionable: { supported_inbound: ['activitypub', 'a2a', 'email', 'ticker'] },
    })
    expect(await readText('/.well-known/mentionable-agents.json')).toContain('"ticker"')
    expect(await readText('/agents/echo')).toContain('By ticker: <code>/ticker/echo</code>')
  })

  test('validates its own section of the configuration', () => {
    const config = {
      origin: 'https://agents.test',
      agents: { echo: { use: 'builtin:echo' } },
      ticker: { secret: 'short' },
    }
    const findFaults = (schema?: ReturnType<typeof createConfigSchema>): readonly string[] => {
      try {
        parseConfig(config, schema)
        return []
      } catch (error) {
        return (error as AggregateError).errors.map(fault => (fault as { key: string }).key)
      }
    }
    expect(findFaults(createConfigSchema(modules))).toEqual(['ticker.secret'])
    expect(findFaults()).toEqual(['ticker'])
  })
})
