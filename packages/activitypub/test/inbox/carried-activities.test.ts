import { generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { proveDocument } from '../../src/proofs/outgoing-proof.ts'
import { formatMultikey } from '../../src/signature/public-keys.ts'
import { composeActivity, echoActor } from '../activity.ts'
import type { PeerAccount } from '../person.ts'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// FEP-8b32: an activity that another server forwards is proven by the document's own proof.

type Members = Record<string, unknown>

const dayMs = 86_400_000
const { privateKey, publicKey } = generateKeyPairSync('ed25519')
let stage: Stage
let erin: PeerAccount

beforeEach(async () => {
  stage = await openStage({ config: { block: ['other.test'] } })
  const id = 'https://good.test/users/erin'
  const method = {
    id: `${id}#ed25519-key`,
    type: 'Multikey',
    controller: id,
    publicKeyMultibase: formatMultikey(publicKey),
  }
  erin = settlePerson(stage.peer, 'erin@good.test', { document: { assertionMethod: [method] } })
})
afterEach(() => stage.close())

function prove(
  document: Members,
  { at = Date.now(), method = `${erin.id}#ed25519-key`, key = privateKey } = {},
): Members {
  return proveDocument(document, { verificationMethod: method, privateKey: key, createdAt: at }) as Members
}

/** Forwards a document: the signature is Mallory's, and the document is Erin's. */
async function carry(document: Members, by: PeerAccount = stage.mallory) {
  const { status, code, detail } = await postActivity(stage.gateway, by, document)
  return { status, code, detail, stored: await stage.listStoredMessages() }
}

test('the gateway accepts a forwarded document with its own proof from anyone, as its signer’s', async () => {
  const { status, stored } = await carry(prove(composeNote(erin, { content: '<p>Passed on</p>' })))
  expect([status, stored.length]).toEqual([202, 1])
  const { message, proofs } = stored[0]!
  const key_id = `${erin.id}#ed25519-key`
  expect(message.parts).toMatchObject([{ content: 'Passed on' }])
  expect(message.sender).toMatchObject({
    address: '@erin@good.test',
    verified: true,
    auth_method: 'ap-object-integrity-proof',
    key_id,
  })
  expect(message.sender.identities).toMatchObject([
    { subject: erin.id, issuer: 'good.test', proof: { verified_by: 'ap-object-integrity-proof', key_id } },
  ])
  expect(proofs).toMatchObject([
    {
      kind: 'http-signature',
      verdict: 'none',
      key_id: stage.mallory.keyId,
      reason: expect.stringContaining(stage.mallory.id),
    },
    { kind: 'digest', verdict: 'pass' },
    { kind: 'object-integrity-proof', verdict: 'pass', key_id },
    { kind: 'webfinger', verdict: 'pass', address: '@erin@good.test' },
  ])
})

test('a forwarded copy of a message from its author is the same message', async () => {
  const document = prove(composeNote(erin))
  expect((await postActivity(stage.gateway, erin, document)).status).toBe(202)
  expect(await carry(document)).toMatchObject({
    status: 202,
    stored: [{ message: { sender: { address: '@erin@good.test' } } }],
  })
})

test('a forwarded Follow belongs to its actor', async () => {
  const { status } = await carry(prove(composeActivity(erin, 'Follow', echoActor)))
  expect(status).toBe(202)
  const follows = (peer: string) =>
    stage.gateway.store.findRelation({ via: 'activitypub', agent: 'echo', relation: 'follower', peer })
  expect(await follows(erin.id)).toBeDefined()
  expect(await follows(stage.mallory.id)).toBeUndefined()
})

describe('the gateway refuses a forwarded activity', () => {
  const note = () => composeNote(erin)
  const changed = (members: Members) => ({ ...prove(note()), ...members })
  const foreign = generateKeyPairSync('ed25519').privateKey

  test.each<[string, () => Members]>([
    ['without a proof', note],
    ['with a proof by another key than the actor’s', () => prove(note(), { key: foreign })],
    ['with a proof under a key the actor does not list', () => prove(note(), { method: `${erin.id}#other` })],
    ['with a proof under the carrier’s name', () => prove(note(), { method: `${stage.mallory.id}#key` })],
    ['changed', () => changed({ cc: [] })],
    ['as somebody else’s', () => changed({ actor: stage.alice.id })],
    ['with a proof made more than a day ago', () => prove(note(), { at: Date.now() - dayMs - 60_000 })],
    ['with a proof 6 minutes ahead', () => prove(note(), { at: Date.now() + 360_000 })],
    ['with a proof a day ahead', () => prove(note(), { at: Date.now() + dayMs })],
  ])('%s', async (_, compose) => {
    expect(await carry(compose())).toMatchObject({ status: 401, code: 'signer_mismatch', stored: [] })
  })

  test('with a proof of an unknown kind, before any request goes out', async () => {
    const { proof, ...unsecured } = prove(note()) as { proof: Members }
    const document = { ...unsecured, proof: { ...proof, cryptosuite: 'bbs-2023' } }
    stage.peer.forget()
    expect(await carry(document)).toMatchObject({ status: 401, code: 'signer_mismatch', stored: [] })
    expect(stage.peer.requests).toEqual([])
  })

  test('whose forwarder has an invalid signature', async () => {
    const { status, code } = await postActivity(stage.gateway, stage.mallory, prove(note()), { key: stage.alice.key })
    expect([status, code]).toEqual([401, 'signature_invalid'])
    expect(await stage.listStoredMessages()).toEqual([])
  })

  test('whose forwarder it cannot look up', async () => {
    const keyId = 'https://sub.evil.test/users/nobody#main-key'
    const { status, code } = await postActivity(stage.gateway, stage.mallory, prove(note()), { keyId })
    expect([status, code]).toEqual([401, 'signature_invalid'])
  })

  test('from a blocked host, or with a blocked author', async () => {
    const blocked = settlePerson(stage.peer, 'bob@other.test')
    expect(await carry(prove(note()), blocked)).toMatchObject({ status: 403, code: 'forbidden', stored: [] })
    const method = `${blocked.id}#ed25519-key`
    expect(await carry(prove(composeNote(blocked), { method }))).toMatchObject({ status: 403, stored: [] })
  })
})

test('a proof from the last day counts in a forwarded activity, and an older one only from its author', async () => {
  expect(await carry(prove(composeNote(erin), { at: Date.now() - dayMs + 600_000 }))).toMatchObject({ status: 202 })
  const old = prove(composeNote(erin), { at: Date.now() - 30 * dayMs })
  expect((await postActivity(stage.gateway, erin, old)).status).toBe(202)
  expect((await stage.listStoredMessages())[0]?.message.sender.identities).toHaveLength(2)
})
