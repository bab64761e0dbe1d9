import { AgentCard, generateAgentCardSignature } from '@a2a-js/sdk'
import { createGuardedFetch } from '@postern/http'
import { openSimWorld } from '@postern/sim'
import { openSqliteDesk } from '@postern/store'
import { expect, test } from 'vitest'
import { a2aConfigSchema, createA2aClient } from '../src/index.ts'
import { openPeer } from './peer.ts'
import { createTestWorld } from './world.ts'

test('the official server understands our calls, and we its answers', async () => {
  const sim = await openSimWorld()
  const fetch = createGuardedFetch({ userAgent: 'test', loopback: sim.network.loopback })
  const world = Object.assign(createTestWorld(fetch), { openStream: fetch.openStream })
  const desk = await openSqliteDesk({ path: ':memory:', now: () => world.now(), log: world.log })
  const client = createA2aClient({ config: a2aConfigSchema.parse({}), world, desk, origin: 'https://agents.test' })
  const { cardUrl } = sim.a2a.peer
  const answer = await client.call(cardUrl, [{ kind: 'text', mime: 'text/plain', content: 'hello' }], { as: 'desk' })
  expect(answer).toMatchObject({
    parts: [{ kind: 'text', content: 'You said: hello' }],
    status: 'completed',
    source: { address: cardUrl, card: cardUrl },
  })
  fetch.close()
  await desk.close()
  await sim.close()
})

test('a card that the official signer signed holds here, and does not once it is changed', async () => {
  const peer = await openPeer()
  const { securitySchemes: _schemes, securityRequirements: _needed, ...open } = peer.card
  const sign = generateAgentCardSignature(peer.key.privateKey, { alg: 'ES256', kid: peer.key.kid, typ: 'JOSE' })
  peer.card = AgentCard.toJSON(await sign(AgentCard.fromJSON(open)))
  expect((await peer.call()).source.signedBy).toBe('peer-key')
  peer.card = { ...peer.card, version: '2' }
  peer.world.advance(10 * 60_000)
  await expect(peer.call()).rejects.toThrow('Cannot call agent: no signature of its card holds')
  await peer.close()
})
