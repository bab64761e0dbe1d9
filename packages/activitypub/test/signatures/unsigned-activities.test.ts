import { generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { proveDocument } from '../../src/proofs/outgoing-proof.ts'
import { formatMultikey } from '../../src/signature/public-keys.ts'
import { origin } from '../gateway.ts'
import type { PeerAccount, PostActivityOptions } from '../person.ts'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// FEP-8b32: an activity in a request without a signature is proven by its own proof alone.

type Members = Record<string, unknown>

const hourMs = 3_600_000
const { privateKey, publicKey } = generateKeyPairSync('ed25519')
let stage: Stage
let erin: PeerAccount

beforeEach(async () => {
  stage = await openStage({ config: { block: ['other.test'] } })
  erin = settleProver('erin@good.test')
})
afterEach(() => stage.close())

function settleProver(address: string): PeerAccount {
  const [name, host] = address.split('@')
  const id = `https://${host}/users/${name}`
  const publicKeyMultibase = formatMultikey(publicKey)
  const method = { id: `${id}#ed25519-key`, type: 'Multikey', controller: id, publicKeyMultibase }
  return settlePerson(stage.peer, address, { document: { assertionMethod: [method] } })
}

function prove(document: Members, { at = Date.now(), by = erin, key = privateKey } = {}): Members {
  const request = { verificationMethod: `${by.id}#ed25519-key`, privateKey: key, createdAt: at }
  return proveDocument(document, request) as Members
}

async function send(document: Members, options: PostActivityOptions = {}) {
  const { status, code, detail } = await postActivity(stage.gateway, erin, document, { isUnsigned: true, ...options })
  return { status, code, detail, stored: await stage.listStoredMessages() }
}

test('an activity with its own proof counts without a signed request, and its record names the proof', async () => {
  const { status, stored } = await send(prove(composeNote(erin)))
  expect([status, stored.length]).toEqual([202, 1])
  const key_id = `${erin.id}#ed25519-key`
  expect(stored[0]?.message.sender).toMatchObject({
    address: '@erin@good.test',
    verified: true,
    auth_method: 'ap-object-integrity-proof',
    key_id,
  })
  expect(stored[0]?.proofs).toMatchObject([
    { kind: 'http-signature', verdict: 'none', reason: 'the request has none' },
    { kind: 'object-integrity-proof', verdict: 'pass', key_id },
    { kind: 'webfinger', verdict: 'pass' },
  ])
})

test('a second copy of it, signed or not, is the same message', async () => {
  const document = prove(composeNote(erin))
  await send(document)
  expect(await send(document)).toMatchObject({ status: 202, stored: [{ duplicates: 1 }] })
  expect((await postActivity(stage.gateway, erin, document)).status).toBe(202)
  expect(await stage.listStoredMessages()).toHaveLength(1)
})

test('needs no digest, but a given digest must match', async () => {
  const wrongDigest = `SHA-256=${Buffer.alloc(32).toString('base64')}`
  expect(await send(prove(composeNote(erin)), { headers: { digest: wrongDigest } })).toMatchObject({
    status: 401,
    code: 'signature_invalid',
    stored: [],
  })
})

test('reaches the agents in its own addressing, at any inbox', async () => {
  const help = `${origin}/agents/help`
  const audience = { cc: [help], tag: [{ type: 'Mention', href: help }] }
  const { stored } = await send(prove(composeNote(erin, audience, { cc: [help] })))
  expect(stored.map(({ message }) => message.recipient)).toEqual(['@help@agents.test'])
})

describe('the gateway refuses an unsigned activity', () => {
  test.each<[string, () => Members, object]>([
    ['without a proof', () => composeNote(erin), { status: 401, code: 'unsigned' }],
    [
      'whose proof is older than a signature may be',
      () => prove(composeNote(erin), { at: Date.now() - hourMs - 60_000 }),
      { status: 401, code: 'signature_invalid', detail: expect.stringContaining('made too long ago') },
    ],
    [
      'whose proof is ahead of its time',
      () => prove(composeNote(erin), { at: Date.now() + 360_000 }),
      { status: 401, code: 'signature_invalid' },
    ],
    [
      'that changed after its proof',
      () => ({ ...prove(composeNote(erin)), published: '2026-01-01T00:00:00Z' }),
      { status: 401, code: 'signature_invalid', detail: expect.stringContaining('does not fit') },
    ],
    [
      'that the key of somebody else proves',
      () => prove(composeNote(erin), { key: generateKeyPairSync('ed25519').privateKey }),
      { status: 401, code: 'signature_invalid' },
    ],
    [
      'that names the key of another host',
      () => prove(composeNote(erin), { by: stage.mallory }),
      { status: 401, code: 'unsigned' },
    ],
    [
      'of an actor whose document lists no such key',
      () => prove(composeNote(stage.alice), { by: stage.alice }),
      { status: 401, code: 'signature_invalid', detail: expect.stringContaining('not an assertionMethod') },
    ],
    [
      'of an actor on a blocked domain',
      () => {
        const bob = settleProver('bob@other.test')
        return prove(composeNote(bob), { by: bob })
      },
      { status: 403, code: 'forbidden' },
    ],
  ])('%s', async (_, compose, expected) => {
    expect(await send(compose())).toMatchObject({ stored: [], ...expected })
  })

  test('by a key that its host hides from us but shows to others', async () => {
    stage.peer.serve(erin.id, ({ headers }) => ({
      body: 'signature' in headers ? { ...erin.document, assertionMethod: [] } : erin.document,
    }))
    expect(await send(prove(composeNote(erin)))).toMatchObject({
      status: 401,
      code: 'signature_invalid',
      detail: expect.stringContaining('not an assertionMethod'),
      stored: [],
    })
  })

  test('without a proof, before it fetches anything', async () => {
    await send(composeNote(erin))
    expect(stage.peer.requests).toEqual([])
  })
})
