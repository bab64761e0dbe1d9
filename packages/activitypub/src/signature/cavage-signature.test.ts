import { createPublicKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { Rejection } from '@postern/message'
import { describe, expect, test } from 'vitest'
import { testKey } from '../../test/keys.ts'
import { checkDigest, formatDigest } from './body-digest.ts'
import {
  buildSigningString,
  checkAlgorithm,
  checkCoverage,
  isSignedBy,
  parseSignatureHeader,
} from './cavage-signature.ts'
import { parsePublicKeyPem } from './public-keys.ts'
import type { SignedRequest } from './request-signature.ts'

interface Vectors {
  readonly publicKeyPem: string
  readonly request: { method: string; target: string; headers: Record<string, string>; body: string }
  readonly cases: readonly { name: string; valid: boolean; signature: string }[]
}

const path = new URL('../../../../fixtures/activitypub/draft-cavage-12/vectors.json', import.meta.url)
const { publicKeyPem, request, cases } = JSON.parse(readFileSync(path, 'utf8')) as Vectors
const key = createPublicKey(publicKeyPem)
const signed: SignedRequest = {
  method: request.method,
  target: request.target,
  origin: `https://${request.headers.host}`,
  headers: new Headers(request.headers),
}

describe('draft-cavage-12 Appendix C', () => {
  test.each(cases)('isSignedBy() returns $valid for $name', ({ signature, valid }) => {
    expect(isSignedBy(key, parseSignatureHeader(signature), signed)).toBe(valid)
  })

  test('checkDigest() accepts the digest of the example', () => {
    expect(() => checkDigest(request.headers.digest ?? '', Buffer.from(request.body))).not.toThrow()
  })

  test('parsePublicKeyPem() rejects the 1024-bit key of the examples', () => {
    expect(parsePublicKeyPem(publicKeyPem)).toBeUndefined()
  })
})

test('buildSigningString() joins covered fields in order, and repeated ones with a comma', () => {
  const headers = new Headers([
    ['x-one', ' a '],
    ['x-one', 'b'],
  ])
  const parameters = parseSignatureHeader('keyId="k",signature="AAAA",headers="x-one host (request-target)"')
  expect(buildSigningString(parameters, { ...signed, headers })).toBe(
    `x-one: a, b\nhost: example.com\n(request-target): post ${request.target}`,
  )
})

test('buildSigningString() refuses a missing covered field', () => {
  const parameters = parseSignatureHeader('keyId="k",signature="AAAA",headers="x-missing"')
  expect(() => buildSigningString(parameters, signed)).toThrow(
    new Rejection(
      'signature_invalid',
      'Cannot verify activity: signature is invalid, it covers x-missing, which is not there',
    ),
  )
})

test('checkCoverage() names the uncovered component', () => {
  const parameters = parseSignatureHeader('keyId="k",signature="AAAA",headers="(request-target) host date"')
  expect(() => checkCoverage(parameters, signed)).toThrow(
    new Rejection('signature_invalid', 'Cannot verify activity: signature is invalid, it does not cover digest'),
  )
})

test('checkAlgorithm() accepts only names of RSA with SHA-256', () => {
  const parametersFor = (algorithm: string) =>
    parseSignatureHeader(`keyId="k",algorithm="${algorithm}",signature="AAAA"`)
  expect(() => checkAlgorithm(parametersFor('hs2019'))).not.toThrow()
  expect(() => checkAlgorithm(parametersFor('rsa-sha1'))).toThrow(/its algorithm is not accepted/)
})

test('parsePublicKeyPem() accepts SPKI and PKCS#1 of 2048 bits', () => {
  const { publicPem } = testKey('alice')
  const pkcs1 = createPublicKey(publicPem).export({ type: 'pkcs1', format: 'pem' }).toString()
  expect(pkcs1).toContain('BEGIN RSA PUBLIC KEY')
  expect(parsePublicKeyPem(publicPem)?.asymmetricKeyDetails?.modulusLength).toBe(2048)
  expect(parsePublicKeyPem(pkcs1)?.asymmetricKeyDetails?.modulusLength).toBe(2048)
})

test('checkDigest() accepts at most four correct digests', () => {
  const body = Buffer.from('hello')
  const digest = formatDigest(body)
  expect(() => checkDigest(Array(4).fill(digest).join(','), body)).not.toThrow()
  expect(() => checkDigest(Array(5).fill(digest).join(','), body)).toThrow(/not that of the body/)
})

test('parseSignatureHeader() refuses a signature that repeats a header', () => {
  const parse = (headers: string) => parseSignatureHeader(`keyId="k",signature="AAAA",headers="${headers}"`)
  expect(parse('host date').coveredNames).toEqual(['host', 'date'])
  expect(() => parse('host date Host')).toThrow(/too long or repeats itself/)
})
