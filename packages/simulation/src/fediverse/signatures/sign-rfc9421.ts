import { createSigner, httpbis } from 'http-message-signatures'
import type { UnsignedRequest } from './unsigned-request.ts'

/** What Mastodon covers and asks of others, by method. */
export const coveredComponents = {
  GET: ['@method', '@target-uri'],
  POST: ['@method', '@target-uri', 'content-digest'],
} as const

export const rsaAlgorithm = 'rsa-v1_5-sha256'

/** Adds `Signature-Input` and `Signature` of RFC 9421 in Mastodon's profile, made by `http-message-signatures`. */
export async function signRfc9421(request: UnsignedRequest): Promise<Record<string, string>> {
  const { method, url, at, key, signer } = request
  const signed = await httpbis.signMessage(
    {
      key: createSigner(key, rsaAlgorithm, signer.keyId),
      name: 'sig1',
      fields: [...coveredComponents[method]],
      params: ['created', 'keyid'],
      paramValues: { created: new Date(at) },
    },
    { method, url, headers: { ...request.headers } },
  )
  return lowerNames(signed.headers)
}

function lowerNames(headers: Readonly<Record<string, string | string[]>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]))
}
