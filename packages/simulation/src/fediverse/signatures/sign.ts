// Signs HTTP requests of the simulated servers with independent libraries (draft-cavage, RFC 9421).
import { hash } from 'node:crypto'
import { createRequire } from 'node:module'
import { createSigner, httpbis } from 'http-message-signatures'
import type { SimActor } from '../actors/actor.ts'
import type { SignatureScheme } from '../actors/persona.ts'

export const activityMediaType = 'application/activity+json'

/** Returns the header fields, including those of the signature. */
type SignRequest = (request: UnsignedRequest) => Promise<Record<string, string>>

interface Scheme {
  readonly sign: SignRequest
  /** Describes the header field that binds a body to the signature. */
  describeBody(body: Uint8Array): Readonly<Record<string, string>>
}

const schemes: Readonly<Record<SignatureScheme, Scheme>> = {
  'draft-cavage': { sign: signCavage, describeBody: body => ({ digest: computeDigest(body) }) },
  rfc9421: { sign: signRfc9421, describeBody: body => ({ 'content-digest': computeContentDigest(body) }) },
}

/** Creates the header fields of an unsigned request in the form of the actor's server. */
export function createUnsignedHeaders(
  { method, url, body, sentAt }: RequestDraft,
  { persona }: SimActor,
): Record<string, string> {
  const { host } = new URL(url)
  return {
    host,
    date: new Date(sentAt).toUTCString(),
    'user-agent': `${persona.software}/${persona.version} (simulated)`,
    ...(method === 'GET' && { accept: `${activityMediaType}, application/ld+json` }),
    ...(body && { ...schemes[persona.signatureScheme].describeBody(body), 'content-type': activityMediaType }),
  }
}

/** Adds the signature of the signer's server. `keyPem` may be a key of somebody else. */
export async function signRequest(
  draft: RequestDraft,
  signer: SimActor,
  keyPem?: string | undefined,
): Promise<Record<string, string>> {
  const key = keyPem ?? (await signer.key()).privatePem
  return schemes[signer.persona.signatureScheme].sign({
    ...draft,
    headers: createUnsignedHeaders(draft, signer),
    signer,
    key,
  })
}

const signedFields = {
  GET: ['(request-target)', 'host', 'date'],
  POST: ['(request-target)', 'host', 'date', 'digest', 'content-type'],
} as const

/** Adds the `Signature` of draft-cavage-http-signatures, created by `http-signature`. */
async function signCavage(request: UnsignedRequest): Promise<Record<string, string>> {
  const headers = { ...request.headers }
  const { pathname, search } = new URL(request.url)
  const { keyId, persona } = request.signer
  loadHttpSignature().signRequest(
    {
      method: request.method,
      path: pathname + search,
      getHeader: name => headers[name.toLowerCase()],
      setHeader: (name, value) => {
        headers[name.toLowerCase()] = value
      },
    },
    {
      key: request.key,
      keyId,
      algorithm: 'rsa-sha256',
      headers: signedFields[request.method],
      authorizationHeaderName: 'signature',
    },
  )
  // The library does not know `hs2019`. The signature does not cover the parameter, so it can be replaced afterwards.
  const signature = headers.signature?.replace('algorithm="rsa-sha256"', `algorithm="${persona.algorithm}"`) ?? ''
  return { ...headers, signature }
}

/** The components that Mastodon covers and requires, by method. */
export const coveredComponents = {
  GET: ['@method', '@target-uri'],
  POST: ['@method', '@target-uri', 'content-digest'],
} as const

export const rsaAlgorithm = 'rsa-v1_5-sha256'

/** Adds `Signature-Input` and `Signature` of RFC 9421 in Mastodon's profile, created by `http-message-signatures`. */
async function signRfc9421(request: UnsignedRequest): Promise<Record<string, string>> {
  const { method, url, sentAt: at, key, signer } = request
  const signedMessage = await httpbis.signMessage(
    {
      key: createSigner(key, rsaAlgorithm, signer.keyId),
      name: 'sig1',
      fields: [...coveredComponents[method]],
      params: ['created', 'keyid'],
      paramValues: { created: new Date(at) },
    },
    { method, url, headers: { ...request.headers } },
  )
  const fields = Object.entries(signedMessage.headers)
  return Object.fromEntries(fields.map(([name, value]) => [name.toLowerCase(), String(value)]))
}

/** The functions of `http-signature` 1.4.0 for draft-cavage-http-signatures. The package contains no types. */
interface HttpSignatureLibrary {
  signRequest(
    request: SignableRequest,
    options: {
      readonly key: string
      readonly keyId: string
      readonly algorithm: string
      readonly headers: readonly string[]
      readonly authorizationHeaderName: string
    },
  ): boolean
  parseRequest(
    request: {
      readonly method: string
      readonly url: string
      readonly headers: Readonly<Record<string, string | undefined>>
    },
    options: { readonly headers: readonly string[]; readonly clockSkew: number },
  ): ParsedSignature
  verifySignature(parsed: ParsedSignature, publicKeyPem: string): boolean
}

/** The part of `http.ClientRequest` that the library's signer uses. */
interface SignableRequest {
  readonly method: string
  readonly path: string
  getHeader(name: string): string | undefined
  setHeader(name: string, value: string): void
}

interface ParsedSignature {
  readonly params: { readonly keyId: string; readonly headers: readonly string[] }
}

const require = createRequire(import.meta.url)

/** Loads the library at the first signature, because its key parser loads slowly and a simulation should open at once. */
export function loadHttpSignature(): HttpSignatureLibrary {
  return require('http-signature') as HttpSignatureLibrary
}

export interface RequestDraft {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly body?: Uint8Array | undefined
  /** The time for `Date` and `created`, in ms since the epoch. */
  readonly sentAt: number
}

/** A request with the header fields of its signer's server, but without a signature. */
interface UnsignedRequest extends RequestDraft {
  readonly headers: Readonly<Record<string, string>>
  readonly signer: SimActor
  /** The private key in PEM, which may belong to somebody else than the signer. */
  readonly key: string
}

/** Computes `SHA-256=…`, the `Digest` of RFC 3230 in the fediverse's form. */
export function computeDigest(body: Uint8Array): string {
  return `SHA-256=${hash('sha256', body, 'base64')}`
}

/** Computes `sha-256=:…:`, the `Content-Digest` of RFC 9530. */
export function computeContentDigest(body: Uint8Array): string {
  return `sha-256=:${hash('sha256', body, 'base64')}:`
}
