import { createPrivateKey, createPublicKey } from 'node:crypto'
import { cavage, createSigner, createVerifier } from 'http-message-signatures'
import { expect, test } from 'vitest'
import { testKey } from '../../test/keys.ts'
import { formatDigest } from '../signature/body-digest.ts'
import { isSignedBy, parseSignatureHeader } from '../signature/cavage-signature.ts'
import { signCavageRequest } from './sign-cavage.ts'

// The tests also use the package http-message-signatures, so that our code does not only verify itself.

const { privatePem, publicPem } = testKey('alice')
const key = { id: 'https://agents.test/agents/echo#main-key', privateKey: createPrivateKey(privatePem) }
const now = Date.parse('2026-11-21T10:00:00Z')
const url = 'https://good.test/users/alice/inbox?a=1'
const bytes = Buffer.from('{"type":"Create"}')

function verifyIndependently(method: string, headers: Record<string, string>): Promise<boolean | null> {
  const keyLookup = async () => ({ verify: createVerifier(publicPem, 'rsa-v1_5-sha256') })
  return cavage.verifyMessage({ keyLookup, notAfter: new Date(now + 1_000) }, { method, url, headers })
}

test('signCavageRequest() signs a POST that another implementation verifies', async () => {
  const body = { bytes, type: 'application/activity+json' }
  const headers = await signCavageRequest({ method: 'POST', url, now, body }, key)
  expect(headers).toMatchObject({
    date: 'Sat, 21 Nov 2026 10:00:00 GMT',
    digest: formatDigest(bytes),
    'content-type': 'application/activity+json',
    signature: expect.stringContaining('headers="(request-target) host date digest content-type"'),
  })
  expect(await verifyIndependently('POST', { ...headers, host: 'good.test' })).toBe(true)
  expect(await verifyIndependently('POST', { ...headers, host: 'evil.test' })).toBe(false)
})

test('signCavageRequest() signs a GET that another implementation verifies', async () => {
  const headers = await signCavageRequest({ method: 'GET', url, now }, key)
  expect(Object.keys(headers)).toEqual(['date', 'signature'])
  expect(await verifyIndependently('GET', { ...headers, host: 'good.test' })).toBe(true)
})

test('isSignedBy() verifies a request that another implementation signed', async () => {
  const message = {
    method: 'POST',
    url,
    headers: { host: 'good.test', date: new Date(now).toUTCString(), digest: formatDigest(bytes) },
  }
  const signedMessage = await cavage.signMessage(
    {
      key: createSigner(privatePem, 'rsa-v1_5-sha256', 'https://agents.test/key'),
      fields: ['@request-target', 'host', 'date', 'digest'],
      params: ['keyid', 'alg'],
    },
    message,
  )
  const headers = new Headers(signedMessage.headers as Record<string, string>)
  const parameters = parseSignatureHeader(headers.get('signature') ?? '')
  const request = { method: 'POST', target: '/users/alice/inbox?a=1', origin: 'https://good.test', headers }
  expect(parameters.keyId).toBe('https://agents.test/key')
  expect(isSignedBy(createPublicKey(publicPem), parameters, request)).toBe(true)
  expect(isSignedBy(createPublicKey(publicPem), parameters, { ...request, origin: 'https://evil.test' })).toBe(false)
})
