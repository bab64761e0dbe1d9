import { afterEach, beforeEach, expect, test } from 'vitest'
import type { TestPeer } from '../setup/peer.ts'
import { openAgentPeer } from '../setup/peer.ts'

let peer: TestPeer
beforeEach(async () => {
  peer = await openAgentPeer()
})
afterEach(() => peer.close())

const refusal = 'Cannot call agent: it names a tenant or a task that would change the path'
const paths = () => peer.requests.map(({ path }) => path)

function speakRest(tenant?: string): void {
  const interfaces = { url: 'https://peer.test/rest', protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant }
  peer.card.supportedInterfaces = [interfaces]
}

test.each(['..', '.', '\ud800'])(
  'the tenant %j cannot make our credentials leave the interface (A2A-C05)',
  async tenant => {
    speakRest(tenant)
    await expect(peer.call()).rejects.toThrow(refusal)
    expect(paths()).toEqual(['/card'])
  },
)

test('a task id cannot make our credentials leave the interface (A2A-C09)', async () => {
  speakRest()
  const task = { id: '..', contextId: 'c', status: { state: 'TASK_STATE_WORKING' } }
  peer.pages.set('/rest/message:send', () => ({ json: { task } }))
  await expect(peer.call()).rejects.toThrow(refusal)
  expect(paths()).toEqual(['/card', '/rest/message:send'])
})

test('a signature covers the signed members only, and not later ones (A2A-C06)', async () => {
  const changes: (() => void)[] = [
    () => peer.card.supportedInterfaces.unshift({ ...peer.card.supportedInterfaces[0], url: 'https://peer.test/evil' }),
    () => Object.assign(peer.card.capabilities, { streaming: true }),
    () => Object.assign(peer.card, { provider: {} }),
    () => Object.assign(peer.card.supportedInterfaces[0], { tenant: '' }),
  ]
  for (const change of changes) {
    await peer.sign()
    change()
    const { call } = peer.clientWith({})
    await expect(call('https://peer.test/card', [], { callerName: 'desk' })).rejects.toThrow(
      'no signature of its card is valid',
    )
  }
  expect(new Set(paths())).toEqual(new Set(['/card', '/.well-known/jwks.json']))
})

test('unsigned members of 0.3 have no effect (A2A-C06)', async () => {
  await peer.sign()
  Object.assign(peer.card, { url: 'https://peer.test/evil', preferredTransport: 'JSONRPC', protocolVersion: '0.3.0' })
  await peer.call()
  expect(paths().at(-1)).toBe('/rpc')
})
