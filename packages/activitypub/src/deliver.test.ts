import { createPrivateKey, createPublicKey } from 'node:crypto'
import { cavage, createSigner, createVerifier } from 'http-message-signatures'
import { expect, test } from 'vitest'
import { testKey } from '../test/keys.ts'
import { signCavageRequest } from './deliver.ts'
import { formatDigest } from './signature/body-digest.ts'
import { isSignedBy, parseSignatureHeader } from './signature/cavage-signature.ts'

// The second implementation is http-message-signatures, so that our code is not verified by itself alone.

const { privatePem, publicPem } = testKey('alice')
const key = { id: 'https://agents.test/agents/echo#main-key', privateKey: createPrivateKey(privatePem) }
const now = Date.parse('2026-11-21T10:00:00Z')
const url = 'https://good.test/users/alice/inbox?a=1'
const bytes = Buffer.from('{"type":"Create"}')

function verifyElsewhere(method: string, headers: Record<string, string>): Promise<boolean | null> {
  const keyLookup = async () => ({ verify: createVerifier(publicPem, 'rsa-v1_5-sha256') })
  return cavage.verifyMessage({ keyLookup, notAfter: new Date(now + 1_000) }, { method, url, headers })
}

test('signRequest() signs a POST that another implementation verifies', async () => {
  const body = { bytes, type: 'application/activity+json' }
  const headers = await signCavageRequest({ method: 'POST', url, now, body }, key)
  expect(headers).toMatchObject({
    date: 'Sat, 21 Nov 2026 10:00:00 GMT',
    digest: formatDigest(bytes),
    'content-type': 'application/activity+json',
    signature: expect.stringContaining('headers="(request-target) host date digest content-type"'),
  })
  expect(await verifyElsewhere('POST', { ...headers, host: 'good.test' })).toBe(true)
  expect(await verifyElsewhere('POST', { ...headers, host: 'evil.test' })).toBe(false)
})

test('signRequest() signs a GET that another implementation verifies', async () => {
  const headers = await signCavageRequest({ method: 'GET', url, now }, key)
  expect(Object.keys(headers)).toEqual(['date', 'signature'])
  expect(await verifyElsewhere('GET', { ...headers, host: 'good.test' })).toBe(true)
})

test('isSignedBy() verifies what another implementation signed', async () => {
  const message = {
    method: 'POST',
    url,
    headers: { host: 'good.test', date: new Date(now).toUTCString(), digest: formatDigest(bytes) },
  }
  const signed = await cavage.signMessage(
    {
      key: createSigner(privatePem, 'rsa-v1_5-sha256', 'https://agents.test/key'),
      fields: ['@request-target', 'host', 'date', 'digest'],
      params: ['keyid', 'alg'],
    },
    message,
  )
  const headers = new Headers(signed.headers as Record<string, string>)
  const parameters = parseSignatureHeader(headers.get('signature') ?? '')
  const request = { method: 'POST', target: '/users/alice/inbox?a=1', origin: 'https://good.test', headers }
  expect(parameters.keyId).toBe('https://agents.test/key')
  expect(isSignedBy(createPublicKey(publicPem), parameters, request)).toBe(true)
  expect(isSignedBy(createPublicKey(publicPem), parameters, { ...request, origin: 'https://evil.test' })).toBe(false)
})
