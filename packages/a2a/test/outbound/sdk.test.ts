import { AgentCard, generateAgentCardSignature } from '@a2a-js/sdk'
import { createGuardedFetch } from '@postern/http'
import { openSimulation } from '@postern/simulation'
import { openSqliteStore } from '@postern/store'
import { sketchedChannels } from '@postern/testing'
import { expect, test } from 'vitest'
import { a2aConfigSchema, createAgentCaller } from '../../src/index.ts'
import { openAgentPeer } from '../setup/peer.ts'
import { createA2aSystem } from '../setup/system.ts'

test('the official server understands our calls, and we understand its answers', async () => {
  const simulation = await openSimulation()
  const fetch = createGuardedFetch({ userAgent: 'test', loopback: simulation.network.loopback })
  const system = Object.assign(createA2aSystem(fetch), { openStream: fetch.openStream })
  const store = await openSqliteStore({
    channels: sketchedChannels,
    path: ':memory:',
    now: () => system.now(),
    log: system.log,
  })
  const call = createAgentCaller({ config: a2aConfigSchema.parse({}), system, store, origin: 'https://agents.test' })
  const { cardUrl } = simulation.a2a.peer
  const answer = await call(cardUrl, [{ kind: 'text', mime: 'text/plain', content: 'hello' }], { callerName: 'desk' })
  expect(answer).toMatchObject({
    parts: [{ kind: 'text', content: 'You said: hello' }],
    status: 'completed',
    source: { address: cardUrl, card: cardUrl },
  })
  fetch.close()
  await store.close()
  await simulation.close()
})

test('a card with a signature of the official signer is valid until somebody changes it', async () => {
  const peer = await openAgentPeer()
  const { securitySchemes: _schemes, securityRequirements: _needed, ...open } = peer.card
  const sign = generateAgentCardSignature(peer.key.privateKey, { alg: 'ES256', kid: peer.key.kid, typ: 'JOSE' })
  peer.card = AgentCard.toJSON(await sign(AgentCard.fromJSON(open)))
  expect((await peer.call()).source.signedBy).toBe('peer-key')
  peer.card = { ...peer.card, version: '2' }
  peer.system.advance(10 * 60_000)
  await expect(peer.call()).rejects.toThrow('Cannot call agent: no signature of its card is valid')
  await peer.close()
})
