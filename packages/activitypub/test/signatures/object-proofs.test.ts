import type { KeyObject } from 'node:crypto'
import { createHash, generateKeyPairSync, sign } from 'node:crypto'
import { canonicalizeJson, encodeBase58 } from '@postern/message'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { isProofMadeBy } from '../../src/proofs/object-integrity.ts'
import { proveDocument } from '../../src/proofs/outgoing-proof.ts'
import { formatMultikey, parseMultikey } from '../../src/signature/public-keys.ts'
import { readFixture } from '../fixtures.ts'
import { origin } from '../gateway.ts'
import type { PeerAccount } from '../person.ts'
import { composeNote, postActivity, settlePerson } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// Object integrity proofs (FEP-8b32). Numbers such as AP-52 are rows of the ActivityPub bug history.

type Members = Record<string, unknown>

let stage: Stage
let erin: PeerAccount
const { privateKey, publicKey } = generateKeyPairSync('ed25519')

beforeEach(async () => {
  stage = await openStage()
  erin = settleErin(publicKey)
})
afterEach(() => stage.close())

function settleErin(key: KeyObject): PeerAccount {
  const id = 'https://good.test/users/erin'
  const method = { id: keyOf(id), type: 'Multikey', controller: id, publicKeyMultibase: formatMultikey(key) }
  return settlePerson(stage.peer, 'erin@good.test', { document: { assertionMethod: [method] } })
}

function keyOf(actor: string): string {
  return `${actor}#ed25519-key`
}

function prove(document: Members, request: { at?: number; method?: string; key?: KeyObject } = {}): Members {
  const { at = Date.now(), method = keyOf(erin.id), key = privateKey } = request
  return proveDocument(document, { verificationMethod: method, privateKey: key, createdAt: at }) as Members
}

async function sendProven(document: Members | string) {
  expect(await postActivity(stage.gateway, erin, document)).toMatchObject({ status: 202 })
  const [record] = await stage.listStoredMessages()
  const methods = record?.message.sender.identities?.map(({ method }) => method.split(':')[3])
  const proof = record?.proofs.find(({ kind }) => kind === 'object-integrity-proof')
  return { methods, proof, evidence: record?.message.sender.identities?.[1] }
}

const byRequest = ['ap-http-signature']

test('a valid proof is a second piece of evidence for the sender', async () => {
  const { methods, proof, evidence } = await sendProven(prove(composeNote(erin)))
  expect(methods).toEqual(['ap-http-signature', 'ap-object-integrity-proof'])
  expect(proof).toMatchObject({ verdict: 'pass', key_id: keyOf(erin.id), algorithm: 'eddsa-jcs-2022' })
  expect(evidence).toMatchObject({
    subject: erin.id,
    issuer: 'good.test',
    assurance: 'address',
    proof: { type: 'transport', verified_by: 'ap-object-integrity-proof', key_id: keyOf(erin.id) },
  })
})

test('a message without a proof has no proof in its record', async () => {
  expect(await sendProven(composeNote(erin))).toMatchObject({ methods: byRequest, proof: undefined })
})

test('one valid proof among several is enough', async () => {
  const proven = prove(composeNote(erin))
  const stranger = { ...(proven.proof as Members), verificationMethod: 'https://other.test/key' }
  const other = { type: 'DataIntegrityProof', cryptosuite: 'bbs-2023', proofValue: 'u' }
  const { methods, proof } = await sendProven({ ...proven, proof: [other, stranger, proven.proof] })
  expect(methods).toHaveLength(2)
  expect(proof).toMatchObject({ verdict: 'pass' })
})

describe('the gateway ignores a proof (AP-52)', () => {
  const changed = (changes: Members) => {
    const proven = prove(composeNote(erin))
    return { ...proven, proof: { ...(proven.proof as Members), ...changes } }
  }
  /** Makes a valid signature over options that the gateway does not accept. */
  const madeWith = (changes: Members) => {
    const { proof, ...unsecured } = prove(composeNote(erin))
    const { proofValue: _, ...honest } = proof as Members
    const options = JSON.parse(JSON.stringify({ ...honest, ...changes })) as Members
    const sha256 = (value: unknown) => createHash('sha256').update(canonicalizeJson(value)).digest()
    const value = sign(null, Buffer.concat([sha256(options), sha256(unsecured)]), privateKey)
    return { ...unsecured, proof: { ...options, proofValue: `z${encodeBase58(value)}` } }
  }

  test.each<[string, () => Members, RegExp]>([
    ['when it has expired', () => madeWith({ expires: '2024-01-01T00:00:00Z' }), /has expired/],
    ['when its expiry is not a valid time', () => madeWith({ expires: 'soon' }), /has expired/],
    [
      'when its time is in the future',
      () => prove(composeNote(erin), { at: Date.now() + 86_400_000 }),
      /time that has been/,
    ],
    ['without a time', () => madeWith({ created: undefined }), /time that has been/],
    ['for another domain', () => madeWith({ domain: 'https://other.test' }), /options that are not known/],
    ['with a challenge', () => madeWith({ challenge: 'x' }), /options that are not known/],
    ['with further options', () => madeWith({ previousProof: 'urn:x' }), /options that are not known/],
    ['for another purpose', () => madeWith({ proofPurpose: 'authentication' }), /not made to assert/],
    ['when the document has a change', () => ({ ...prove(composeNote(erin)), published: 'x' }), /does not fit/],
    ['when its value is empty', () => changed({ proofValue: 'z' }), /does not fit/],
    ['when its value is a number', () => changed({ proofValue: 1 }), /does not fit/],
    ['when it names no key', () => changed({ verificationMethod: undefined }), /names no key/],
    [
      'by a key of another host',
      () => changed({ verificationMethod: 'https://evil.test/key' }),
      /not an assertionMethod/,
    ],
    ['by the key for requests', () => changed({ verificationMethod: erin.keyId }), /not an assertionMethod/],
    ['by a key nobody lists', () => changed({ verificationMethod: `${erin.id}#other` }), /not an assertionMethod/],
    ['when its maker used another context', () => changed({ '@context': ['https://other.test/'] }), /does not fit/],
  ])('%s', async (_, compose, reason) => {
    const { methods, proof } = await sendProven(compose())
    expect(methods).toEqual(byRequest)
    expect(proof).toMatchObject({ verdict: 'fail', reason: expect.stringMatching(reason) })
  })

  test.each([
    ['a number written 1.0', '"sensitiveness":1', '"sensitiveness":1.0', /canonical form/],
    ['a member that is repeated', '"sensitiveness":1', '"sensitiveness":2,"sensitiveness":1', /repeated/],
  ])('with %s', async (_, written, rewritten, reason) => {
    const text = JSON.stringify(prove(composeNote(erin, { sensitiveness: 1 })))
    expect(await sendProven(text.replace(written, rewritten))).toMatchObject({
      methods: byRequest,
      proof: { verdict: 'fail', reason: expect.stringMatching(reason) },
    })
  })

  test('by another actor’s key, even if the actor’s host shows it elsewhere', async () => {
    const other = generateKeyPairSync('ed25519')
    const proven = prove(composeNote(erin), { key: other.privateKey })
    expect(await sendProven(proven)).toMatchObject({ methods: byRequest, proof: { verdict: 'fail' } })
  })
})

test('the gateway fetches an actor again for an unknown key, but not often', async () => {
  const { peer } = stage
  await sendProven(composeNote(erin))
  const next = generateKeyPairSync('ed25519')
  const id = `${erin.id}#ed25519-key-2`
  const method = { id, type: 'Multikey', controller: erin.id, publicKeyMultibase: formatMultikey(next.publicKey) }
  peer.serve(erin.id, { body: { ...erin.document, assertionMethod: method } })
  peer.forget()
  const proveNext = () => prove(composeNote(erin), { key: next.privateKey, method: id })
  expect((await sendProven(proveNext())).methods).toHaveLength(2)
  await sendProven(prove(composeNote(erin), { method: `${erin.id}#unknown` }))
  expect(peer.countOf(erin.id)).toBe(1)
})

test('a valid Linked Data Signature proves nothing (AP-51)', async () => {
  const { gateway, alice } = stage
  const { signature } = readFixture<Members>('rsa-signature-2017/document.json')
  const document = composeNote(alice, {}, { signature })
  expect(await postActivity(gateway, alice, document, { isUnsigned: true })).toMatchObject({ status: 401 })
  expect(await stage.listStoredMessages()).toEqual([])
  expect(await postActivity(gateway, alice, document)).toMatchObject({ status: 202 })
  const [record] = await stage.listStoredMessages()
  expect(record?.message.sender.identities).toHaveLength(1)
  expect(record?.proofs.map(({ kind }) => kind)).toEqual(['http-signature', 'digest', 'webfinger'])
})

describe('an outgoing activity', () => {
  async function receiveAnswers(config = {}, answers = [202], said = 'hi') {
    await stage.close()
    stage = await openStage({ config, agents: { echo: { handle: () => said } } })
    const { gateway, peer, alice } = stage
    const statuses = [...answers]
    peer.serve('https://good.test/inbox', () => ({ status: statuses.shift() ?? 202 }))
    gateway.work()
    await postActivity(gateway, alice, composeNote(alice))
    const posts = () => peer.requests.filter(({ method }) => method === 'POST')
    await vi.waitFor(() => expect(posts()).toHaveLength(answers.length))
    return posts().map(({ body }) => body)
  }

  test('has a proof by a key of our actor', async () => {
    const [body = ''] = await receiveAnswers()
    const { proof, ...unsecured } = JSON.parse(body) as Members & { proof: Members }
    const answer = await stage.gateway.app.request('/agents/echo', { headers: { accept: 'application/activity+json' } })
    const actor = (await answer.json()) as { assertionMethod: { id: string; publicKeyMultibase: string }[] }
    const [listed] = actor.assertionMethod
    expect(proof).toMatchObject({ verificationMethod: listed?.id, proofPurpose: 'assertionMethod' })
    expect(unsecured['@context']).toContain('https://w3id.org/security/data-integrity/v1')
    expect(
      isProofMadeBy(parseMultikey(listed?.publicKeyMultibase ?? '')!, { unsecuredDocument: unsecured, proof }),
    ).toBe(true)
    expect(unsecured.actor).toBe(`${origin}/agents/echo`)
  })

  test('keeps its proof when the gateway sends it again', async () => {
    const bodies = await receiveAnswers({}, [503, 503, 202])
    expect(new Set(bodies).size).toBe(1)
    expect(bodies[0]).toContain('"proof"')
  })

  test('has no proof when the operator disables proofs', async () => {
    const [body] = await receiveAnswers({ object_proofs: false })
    expect(body).not.toContain('"proof"')
  })

  test('has no proof without a canonical form', async () => {
    const [body = ''] = await receiveAnswers({}, [202], 'half \ud83d a face')
    expect(JSON.parse(body).object.content).toContain('a face')
  })

  test('appears without its proof to the operator', async () => {
    await receiveAnswers()
    const findWire = async () => (await stage.gateway.store.listDeliveries({ limit: 1 }))[0]?.wire
    // The peer receives the post before the store has recorded the delivery.
    await expect.poll(findWire).toMatchObject({ type: expect.any(String) })
    expect(await findWire()).not.toHaveProperty('proof')
  })
})
