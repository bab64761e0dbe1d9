import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { formatEd25519Multikey, parseEd25519Multikey } from '../did/did-document.ts'
import { formatIntegrityInput, isIntegrityProof } from './credential.ts'

interface Vector {
  readonly keyPair: { readonly publicKeyMultibase: string }
  readonly signed: Record<string, unknown> & {
    readonly proof: Record<string, unknown> & { readonly proofValue: string }
  }
  readonly combinedHash: string
}

const vectorUrl = new URL('../../../../fixtures/activitypub/vc-di-eddsa/eddsa-jcs-2022.json', import.meta.url)
const { keyPair, signed, combinedHash } = JSON.parse(readFileSync(vectorUrl, 'utf8')) as Vector

test('the verifier accepts the W3C test vector of eddsa-jcs-2022, and rejects a changed document (MN-6.5)', () => {
  const { proof, ...unsecured } = signed
  const { proofValue, ...options } = proof
  const key = parseEd25519Multikey(keyPair.publicKeyMultibase)
  if (!key) throw new Error('the vector has no key')
  const input = formatIntegrityInput({ unsecured, options })
  expect(input.toString('hex')).toBe(combinedHash)
  expect(isIntegrityProof(input, key, proofValue)).toBe(true)
  expect(
    isIntegrityProof(formatIntegrityInput({ unsecured: { ...unsecured, name: 'x' }, options }), key, proofValue),
  ).toBe(false)
  expect(formatEd25519Multikey(key)).toBe(keyPair.publicKeyMultibase)
})
