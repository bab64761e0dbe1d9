import type { SimRequest } from '../net/loopback-server.ts'
import { loadHttpSignature } from './http-signature.ts'
import { computeDigest } from './sign.ts'

/** A document of the other side, parsed. @throws Error when it cannot be had */
export type FetchDocument = (url: string) => Promise<Record<string, unknown>>

export interface SignatureChecks {
  readonly now: () => number
  readonly fetchDocument: FetchDocument
}

const requiredFields = {
  GET: ['(request-target)', 'host', 'date'],
  POST: ['(request-target)', 'host', 'date', 'digest'],
} as const

const dateWindowMs = 12 * 3_600_000

/**
 * Who signed this request, by the actor's own document: the check Mastodon makes, with `http-signature` doing the
 * cryptography. @throws Error with the reason
 */
export async function verifySigner(request: SimRequest, { now, fetchDocument }: SignatureChecks): Promise<string> {
  const method = request.method === 'POST' ? 'POST' : 'GET'
  // Peers call RSA with SHA-256 `hs2019` too; the library does not know the name.
  const signature = String(request.headers.signature ?? '').replace('algorithm="hs2019"', 'algorithm="rsa-sha256"')
  const headers: FlatHeaders = {
    ...flattenHeaders(request),
    signature: signature || undefined,
    authorization: undefined,
  }
  const parsed = loadHttpSignature().parseRequest(
    { method: request.method, url: request.target, headers },
    { headers: requiredFields[method], clockSkew: Number.MAX_SAFE_INTEGER },
  )
  const age = Math.abs(now() - Date.parse(headers.date ?? ''))
  if (!(age <= dateWindowMs)) throw new Error(`the date is ${age} ms away`)
  if (method === 'POST' && headers.digest !== computeDigest(request.body)) throw new Error('the digest does not match')
  const { owner, publicKeyPem } = await fetchKey(parsed.params.keyId, fetchDocument)
  if (!loadHttpSignature().verifySignature(parsed, publicKeyPem)) throw new Error('the signature does not verify')
  return owner
}

/** Key document → owner → the owner's own document, which must name that very key. */
async function fetchKey(keyId: string, fetchDocument: FetchDocument): Promise<{ owner: string; publicKeyPem: string }> {
  const keyUrl = keyId.replace(/#.*$/, '')
  const named = readKey(await fetchDocument(keyUrl))
  const owner = named?.owner
  if (typeof owner !== 'string' || new URL(owner).origin !== new URL(keyId).origin) {
    throw new Error(`the key ${keyId} names no owner of its own origin`)
  }
  const actor = await fetchDocument(owner)
  const key = readKey(actor)
  if (actor.id !== owner || key?.id !== keyId || key.owner !== owner || typeof key.publicKeyPem !== 'string') {
    throw new Error(`the actor ${owner} does not own the key ${keyId}`)
  }
  return { owner, publicKeyPem: key.publicKeyPem }
}

function readKey(document: Record<string, unknown>): Record<string, unknown> | undefined {
  const key = document.publicKey ?? (document.publicKeyPem ? document : undefined)
  return typeof key === 'object' && key !== null ? (key as Record<string, unknown>) : undefined
}

type FlatHeaders = Readonly<Partial<Record<string, string>>>

function flattenHeaders({ headers }: SimRequest): FlatHeaders {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  )
}
