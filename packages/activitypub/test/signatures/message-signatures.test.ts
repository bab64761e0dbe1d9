import { createPrivateKey, generateKeyPairSync } from 'node:crypto'
import { createSigner, createVerifier, httpbis } from 'http-message-signatures'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { signRfc9421Request } from '../../src/keys/sign-rfc9421.ts'
import { formatMultikey } from '../../src/signature/public-keys.ts'
import { origin } from '../gateway.ts'
import type { SignatureOptions } from '../message-signer.ts'
import { signMessageHeaders } from '../message-signer.ts'
import type { PeerAccount } from '../person.ts'
import { composeNote, postActivity, settlePerson, signHeaders } from '../person.ts'
import type { Stage } from '../stage.ts'
import { openStage } from '../stage.ts'

// RFC 9421 at the inbox. Numbers are rows of the ActivityPub bug history.

let stage: Stage

beforeEach(async () => {
  stage = await openStage()
})
afterEach(() => stage.close())

const seconds = () => Math.floor(Date.now() / 1_000)

async function postSigned(author: PeerAccount, options: SignatureOptions = {}, changes: Record<string, string> = {}) {
  const { gateway } = stage
  const body = JSON.stringify(composeNote(author))
  const headers = { ...signMessageHeaders(gateway, author, body, options), ...changes }
  return postActivity(gateway, author, body, { isUnsigned: true, path: options.path, headers } as never)
}

async function expectRefused(posted: ReturnType<typeof postSigned>, code: string, detail: RegExp) {
  expect(await posted).toMatchObject({ status: 401, code, detail: expect.stringMatching(detail) })
  expect(await stage.listStoredMessages()).toEqual([])
}

test("the gateway accepts Mastodon's profile, and records the proven components", async () => {
  expect(await postSigned(stage.alice)).toMatchObject({ status: 202 })
  const [record] = await stage.listStoredMessages()
  expect(record?.message.sender).toMatchObject({ verified: true, key_id: stage.alice.keyId })
  expect(record?.proofs[0]).toMatchObject({
    kind: 'http-signature',
    verdict: 'pass',
    scheme: 'rfc9421',
    covered: '@method @target-uri content-digest',
  })
})

test.each<[string, SignatureOptions]>([
  ['the target in parts', { coveredComponents: ['@method', '@authority', '@path', 'content-digest'] }],
  [
    'the target in parts, with a query',
    { path: '/inbox?a=1', coveredComponents: ['@method', '@authority', '@path', '@query', 'content-digest'] },
  ],
  ['a whole target with a query', { path: '/inbox?a=1' }],
  ['an algorithm that is the key’s', { parameters: { alg: 'rsa-v1_5-sha256' } }],
  ['nonce, tag and an end', { parameters: { nonce: 'n', tag: 'activitypub', expires: seconds() + 60 } }],
  ['another label', { label: 'mastodon' }],
  ['a clock 4 minutes ahead', { parameters: { created: seconds() + 240 } }],
])('the gateway accepts %s', async (_, options) => {
  expect(await postSigned(stage.alice, options)).toMatchObject({ status: 202 })
})

describe('the gateway refuses RFC 9421 (AP-23)', () => {
  test.each<[string, SignatureOptions, string, RegExp]>([
    ['without created', { parameters: { created: undefined } }, 'signature_invalid', /"created" is missing/],
    ['when it is a day old', { parameters: { created: seconds() - 86_400 } }, 'expired', /before the accepted window/],
    ['when it is 6 minutes ahead', { parameters: { created: seconds() + 360 } }, 'expired', /in the future/],
    ['when it is 100 minutes ahead', { parameters: { created: seconds() + 6_000 } }, 'expired', /in the future/],
    ['when it has ended', { parameters: { expires: seconds() - 1 } }, 'expired', /has expired/],
    [
      'without the digest covered',
      { coveredComponents: ['@method', '@target-uri'] },
      'signature_invalid',
      /cover content-digest/,
    ],
    [
      'without the method',
      { coveredComponents: ['@target-uri', 'content-digest'] },
      'signature_invalid',
      /cover @method/,
    ],
    [
      'without the target',
      { coveredComponents: ['@method', 'content-digest'] },
      'signature_invalid',
      /cover @target-uri/,
    ],
    ['naming HMAC', { parameters: { alg: 'hmac-sha256' } }, 'signature_invalid', /algorithm is not accepted/],
    ['naming another kind of key', { parameters: { alg: 'ed25519' } }, 'signature_invalid', /does not fit/],
    ['with an unknown parameter', { parameters: { depth: 1 } }, 'signature_invalid', /"depth" is not known/],
    [
      'with an unknown component',
      { coveredComponents: ['@method', '@target-uri', 'content-digest', '@status'], values: { '@status': '200' } },
      'signature_invalid',
      /covers @status, which is not there/,
    ],
    [
      'for the URL of another',
      { values: { '@target-uri': 'https://other.test/agents/echo/inbox' } },
      'signature_invalid',
      /does not fit/,
    ],
    ['for another inbox', { values: { '@target-uri': `${origin}/inbox` } }, 'signature_invalid', /does not fit/],
    ['for another method', { method: 'GET' }, 'signature_invalid', /does not fit/],
    ['for another content', { contentDigest: 'sha-256=:AAAA:' }, 'signature_invalid', /not that of the content/],
    ['with a digest nobody trusts', { contentDigest: 'md5=:AAAA:' }, 'signature_invalid', /no sha-256 or sha-512/],
  ])('%s', async (_, options, code, detail) => {
    await expectRefused(postSigned(stage.alice, options), code, detail)
  })

  test('with two labels', async () => {
    const body = '{}'
    const one = signMessageHeaders(stage.gateway, stage.alice, body)
    const two = signMessageHeaders(stage.gateway, stage.mallory, body, { label: 'sig2' })
    const both = {
      'signature-input': `${one['signature-input']}, ${two['signature-input']}`,
      signature: `${one.signature}, ${two.signature}`,
    }
    await expectRefused(postSigned(stage.alice, {}, both), 'signature_invalid', /not exactly one/)
  })

  test('by another actor’s key', async () => {
    const { alice, mallory } = stage
    await expectRefused(postSigned(alice, { keyPem: mallory.key.privatePem }), 'signature_invalid', /does not fit/)
  })

  test('for a host that a proxy declares', async () => {
    const values = { '@target-uri': 'https://other.test/agents/echo/inbox' }
    const headers = { 'x-forwarded-host': 'other.test', forwarded: 'host=other.test' }
    await expectRefused(postSigned(stage.alice, { values }, headers), 'signature_invalid', /does not fit/)
  })

  test('before any request if its form is wrong', async () => {
    await postSigned(stage.alice, { coveredComponents: ['@method'] })
    expect(stage.peer.requests).toEqual([])
  })
})

describe('the gateway ignores an old signature beside a Signature-Input (AP-24)', () => {
  test.each(['sig1=("@method");created=1', 'nonsense', ''])('"%s"', async input => {
    const { gateway, alice } = stage
    const body = JSON.stringify(composeNote(alice))
    const old = signHeaders(gateway, alice, body, { path: '/agents/echo/inbox' })
    const headers = { ...old, 'signature-input': input }
    const answer = await postActivity(gateway, alice, body, { isUnsigned: true, headers })
    expect(answer).toMatchObject({ status: 401, code: 'signature_invalid' })
    expect(await stage.listStoredMessages()).toEqual([])
  })
})

describe('Accept-Signature', () => {
  test('tells unsigned peers how to sign (AP-13)', async () => {
    const { gateway, alice } = stage
    const answer = await postActivity(gateway, alice, composeNote(alice), { isUnsigned: true })
    expect(answer).toMatchObject({ status: 401, code: 'unsigned' })
    const acceptSignature = answer.headers.get('accept-signature')
    expect(acceptSignature).toBe('sig1=("@method" "@target-uri" "content-digest");created;keyid')
  })

  test('accompanies only a 401', async () => {
    const { gateway, alice } = stage
    const answer = await postActivity(gateway, alice, composeNote(alice), { path: '/agents/nobody/inbox' })
    expect(answer.status).toBe(404)
    expect(answer.headers.get('accept-signature')).toBeNull()
  })
})

describe('an Ed25519 key in the actor’s Multikeys', () => {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const keyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

  function settleErin(changes: object = {}): PeerAccount {
    const id = 'https://good.test/users/erin'
    const multikey = {
      id: `${id}#ed25519-key`,
      type: 'Multikey',
      controller: id,
      publicKeyMultibase: formatMultikey(publicKey),
      ...changes,
    }
    return settlePerson(stage.peer, 'erin@good.test', { document: { assertionMethod: [multikey] } })
  }

  const signedBy = (person: PeerAccount) => ({
    keyPem,
    parameters: { keyid: `${person.id}#ed25519-key`, alg: 'ed25519' },
  })

  test('signs requests by RFC 9421', async () => {
    const erin = settleErin()
    expect(await postSigned(erin, signedBy(erin))).toMatchObject({ status: 202 })
  })

  test.each([
    ['of another controller', { controller: 'https://good.test/users/alice' }],
    ['of another type', { type: 'Ed25519VerificationKey2020' }],
    ['that is none', { publicKeyMultibase: 'z6Mk' }],
    ['that lives elsewhere', { id: 'https://evil.test/key' }],
  ])('does not sign a request %s', async (_, changes) => {
    const erin = settleErin(changes)
    await expectRefused(postSigned(erin, signedBy(erin)), 'signer_mismatch', /does not list the signer's key/)
  })

  test('does not sign by draft-cavage, under any algorithm name (AP-27)', async () => {
    const erin = settleErin()
    for (const algorithm of ['hs2019', 'rsa-sha256']) {
      const posted = postActivity(stage.gateway, erin, composeNote(erin), {
        keyId: `${erin.id}#ed25519-key`,
        parameters: { algorithm },
      })
      await expectRefused(posted, 'signature_invalid', /does not fit/)
    }
  })
})

describe('the library http-message-signatures, as a second implementation,', () => {
  test.each([
    ['a whole target', ['@method', '@target-uri', 'content-digest']],
    ['a target in parts, and headers', ['@method', '@authority', '@path', '@query', 'content-digest', 'content-type']],
  ])('signs %s, and the gateway accepts it', async (_, fields) => {
    const { gateway, alice } = stage
    const body = JSON.stringify(composeNote(alice))
    const { 'content-digest': contentDigest = '' } = signMessageHeaders(gateway, alice, body)
    const url = `${origin}/agents/echo/inbox`
    const headers = { 'content-type': 'application/activity+json', 'content-digest': contentDigest }
    const signed = await httpbis.signMessage(
      {
        key: createSigner(alice.key.privatePem, 'rsa-v1_5-sha256', alice.keyId),
        name: 'sig1',
        fields,
        params: ['created', 'keyid', 'alg'],
      },
      { method: 'POST', url, headers },
    )
    const options = { isUnsigned: true, headers: signed.headers as Record<string, string> }
    expect(await postActivity(gateway, alice, body, options)).toMatchObject({ status: 202 })
  })

  test.each(['GET', 'POST'] as const)('verifies our %s', async method => {
    const { alice } = stage
    const url = 'https://good.test/users/alice/inbox?a=1'
    const bytes = Buffer.from('{"type":"Create"}')
    const body = method === 'POST' ? { bytes, type: 'application/activity+json' } : undefined
    const key = { id: 'https://agents.test/key', privateKey: createPrivateKey(alice.key.privatePem) }
    const headers = await signRfc9421Request({ method, url, now: Date.now(), body }, key)
    const verify = (message: { method: string; url: string; headers: Record<string, string> }) =>
      httpbis.verifyMessage(
        { keyLookup: async () => ({ verify: createVerifier(alice.key.publicPem, 'rsa-v1_5-sha256') }) },
        message,
      )
    expect(await verify({ method, url, headers })).toBe(true)
    expect(await verify({ method, url: 'https://evil.test/', headers })).toBe(false)
    if (body) expect(headers['content-digest']).toMatch(/^sha-256=:/)
  })
})
