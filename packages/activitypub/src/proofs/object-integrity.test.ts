import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync } from 'node:crypto'
import { canonicalizeJson, decodeBase58, encodeBase58 } from '@postern/message'
import { measureGrowth } from '@postern/testing/growth'
import { describe, expect, test } from 'vitest'
import { readFixture } from '../../test/fixtures.ts'
import { formatMultikey, parseMultikey } from '../signature/public-keys.ts'
import { findAmbiguity, isProofMadeBy } from './object-integrity.ts'
import { proveDocument } from './outgoing-proof.ts'

type Document = Record<string, unknown> & { readonly proof: Record<string, unknown> }

function splitProof({ proof, ...unsecuredDocument }: Document) {
  return { unsecuredDocument, proof }
}

describe('RFC 8785', () => {
  const { cases } = readFixture<{ cases: { name: string; input: string; output: string }[] }>('rfc8785/cases.json')

  test.each(cases)('canonicalizeJson() formats $name as the reference implementation does', ({ input, output }) => {
    expect(canonicalizeJson(JSON.parse(input))).toBe(output)
  })

  test.each([['\ud800'], [{ '\udfff': 1 }], [Number.NaN], [Number.POSITIVE_INFINITY]])(
    'canonicalizeJson() refuses values outside I-JSON: %j',
    value => expect(() => canonicalizeJson(value)).toThrow(TypeError),
  )

  test('canonicalizeJson() keeps a member named __proto__', () => {
    expect(canonicalizeJson(JSON.parse('{"b":1,"__proto__":2}'))).toBe('{"__proto__":2,"b":1}')
  })
})

describe('W3C eddsa-jcs-2022', () => {
  const vector = readFixture<{
    keyPair: { publicKeyMultibase: string }
    signed: Document
    canonicalDocument: string
    canonicalProof: string
    combinedHash: string
  }>('vc-di-eddsa/eddsa-jcs-2022.json')
  const key = parseMultikey(vector.keyPair.publicKeyMultibase)!
  const { unsecuredDocument, proof } = splitProof(vector.signed)

  test('canonicalizeJson() produces the published canonical forms and hashes', () => {
    const { proofValue: _, ...options } = proof
    expect(canonicalizeJson(unsecuredDocument)).toBe(vector.canonicalDocument)
    expect(canonicalizeJson(options)).toBe(vector.canonicalProof)
    const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
    expect(sha256(vector.canonicalProof) + sha256(vector.canonicalDocument)).toBe(vector.combinedHash)
  })

  test('isProofMadeBy() accepts the signed document and rejects every change', () => {
    expect(isProofMadeBy(key, { unsecuredDocument, proof })).toBe(true)
    expect(isProofMadeBy(key, { unsecuredDocument: { ...unsecuredDocument, name: 'Other' }, proof })).toBe(false)
    expect(isProofMadeBy(key, { unsecuredDocument, proof: { ...proof, created: '2023-02-24T23:36:39Z' } })).toBe(false)
    expect(isProofMadeBy(key, { unsecuredDocument, proof: { ...proof, challenge: 'x' } })).toBe(false)
    expect(isProofMadeBy(key, { unsecuredDocument, proof: { ...proof, proofValue: 'u1234' } })).toBe(false)
    expect(isProofMadeBy(key, { unsecuredDocument, proof: { ...proof, proofValue: undefined } })).toBe(false)
  })

  test('isProofMadeBy() accepts contexts after the signed ones, but not before them', () => {
    const context = unsecuredDocument['@context'] as string[]
    const withContexts = (list: string[]) => ({ ...unsecuredDocument, '@context': list })
    expect(isProofMadeBy(key, { unsecuredDocument: withContexts([...context, 'https://x.test/']), proof })).toBe(true)
    expect(isProofMadeBy(key, { unsecuredDocument: withContexts(['https://x.test/', ...context]), proof })).toBe(false)
  })
})

describe('FEP-8b32', () => {
  const { publicKeyMultibase, privateKeyJwk, signed } = readFixture<{
    publicKeyMultibase: string
    privateKeyJwk: JsonWebKey
    signed: { name: string; document: Document }[]
  }>('fep-8b32/vectors.json')
  const key = parseMultikey(publicKeyMultibase)!
  const privateKey = createPrivateKey({ key: privateKeyJwk as never, format: 'jwk' })

  test.each(signed)('isProofMadeBy() accepts the activity $name, but not for another actor', ({ document }) => {
    expect(isProofMadeBy(key, splitProof(document))).toBe(true)
    expect(isProofMadeBy(key, splitProof({ ...document, actor: 'https://evil.test/' }))).toBe(false)
  })

  test('isProofMadeBy() uses the document’s context for a proof without one', () => {
    const { unsecuredDocument, proof } = splitProof(signed[0]!.document)
    const { '@context': _, ...hidden } = proof
    expect(isProofMadeBy(key, { unsecuredDocument, proof: hidden })).toBe(true)
  })

  test('proveDocument() reproduces the proof of the example', () => {
    const { unsecuredDocument, proof } = splitProof(signed[0]!.document)
    const [activityStreams] = unsecuredDocument['@context'] as string[]
    const proven = proveDocument(
      { ...unsecuredDocument, '@context': activityStreams },
      {
        verificationMethod: String(proof.verificationMethod),
        privateKey,
        createdAt: Date.parse(String(proof.created)),
      },
    )
    expect(proven).toEqual(signed[0]!.document)
  })
})

describe('FEP-521a', () => {
  const { keys } = readFixture<{
    keys: { name: string; accepted: boolean; publicKeyMultibase: string; x: string }[]
  }>('fep-521a/multikeys.json')

  test.each(keys)('parseMultikey() accepts $name: $accepted', ({ publicKeyMultibase, accepted, x }) => {
    const key = parseMultikey(publicKeyMultibase)
    expect(key !== undefined).toBe(accepted)
    if (!key) return
    expect(key.export({ format: 'jwk' })).toMatchObject({ crv: 'Ed25519', x })
    expect(formatMultikey(key)).toBe(publicKeyMultibase)
  })

  test.each(['', 'z', 'zz', 'z0OIl', 'u6Mk', 'z6Mk', `z${'2'.repeat(400)}`])('parseMultikey() refuses "%s"', text =>
    expect(parseMultikey(text)).toBeUndefined(),
  )

  test('formatMultikey() writes the public half of a private key', () => {
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    expect(formatMultikey(createPublicKey(privateKey))).toBe(formatMultikey(publicKey))
  })
})

test.each(['', '00', '0000ff', 'ff'.repeat(64), '00010203'])(
  'decodeBase58() returns the bytes that encodeBase58() encoded: %s',
  hex => {
    expect(Buffer.from(decodeBase58(encodeBase58(Buffer.from(hex, 'hex')))!).toString('hex')).toBe(hex)
  },
)

describe('findAmbiguity() (AP-52)', () => {
  test.each([
    '{}',
    '[]',
    '\ufeff{"a":1}',
    ' { "a" : [ 1 , -1.5 , true , null , "x\\"y:" ] , "b" : { "a" : 1e+21 } } ',
    '{"a":{"b":1},"c":{"b":1},"d":["a","a"]}',
  ])('finds no ambiguity in %s', text => {
    JSON.parse(text.replace('\ufeff', ''))
    expect(findAmbiguity(text)).toBeUndefined()
  })

  test.each(['{"a":1,"a":1}', '{"a":1,"\\u0061":2}', '{"x":[{"a":1,"b":{},"a":2}]}', '{"__proto__":1,"__proto__":2}'])(
    'finds the repeated member of %s',
    text => expect(findAmbiguity(text)).toBe('a member is repeated'),
  )

  test.each(['1.0', '1e3', '1E21', '-0', '0.10', '9007199254740993', '100000000000000000000000'])(
    'finds the other form in %s',
    number => expect(findAmbiguity(`{"a":${number}}`)).toBe('a number is not in its canonical form'),
  )

  test.each([
    ['members', '{"a":1,"b":2},', '[', '1]'],
    ['escapes', '\\n', '"', '"'],
    ['letters', 'letters', '"', '"'],
    ['spaces', '    ', '[', '1]'],
    ['entries', '1,', '[', '1]'],
  ])('takes linear time for many %s', (_, piece, before, after) => {
    const run = (text: string) => expect(findAmbiguity(before + text + after)).toBeUndefined()
    expect(measureGrowth(run, piece, 1_000_000)).toBeLessThan(24)
  })
})
