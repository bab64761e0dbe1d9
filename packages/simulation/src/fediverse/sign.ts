import { createHash } from 'node:crypto'
import type { SimActor } from './actor.ts'
import type { SignatureScheme } from './persona.ts'
import { signCavage } from './sign-cavage.ts'
import { signRfc9421 } from './sign-rfc9421.ts'

export const activityType = 'application/activity+json'

export interface DraftRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly body?: Uint8Array | undefined
  /** Milliseconds since the epoch, for `Date` and `created`. */
  readonly at: number
}

/** A request that its signer's server has begun to write. */
export interface UnsignedRequest extends DraftRequest {
  readonly headers: Readonly<Record<string, string>>
  readonly signer: SimActor
  /** PEM; may be another key than the signer's. */
  readonly key: string
}

/** Returns the header fields with those of the signature. */
type SignRequest = (request: UnsignedRequest) => Promise<Record<string, string>>

interface Scheme {
  readonly sign: SignRequest
  /** The field by which a body is bound to the signature. */
  describeBody(body: Uint8Array): Readonly<Record<string, string>>
}

const schemes: Readonly<Record<SignatureScheme, Scheme>> = {
  'draft-cavage': { sign: signCavage, describeBody: body => ({ digest: computeDigest(body) }) },
  rfc9421: { sign: signRfc9421, describeBody: body => ({ 'content-digest': computeContentDigest(body) }) },
}

/** `SHA-256=…`, the `Digest` of RFC 3230 as the fediverse writes it. */
export function computeDigest(body: Uint8Array): string {
  return `SHA-256=${sha256(body)}`
}

/** `sha-256=:…:`, the `Content-Digest` of RFC 9530. */
export function computeContentDigest(body: Uint8Array): string {
  return `sha-256=:${sha256(body)}:`
}

function sha256(body: Uint8Array): string {
  return createHash('sha256').update(body).digest('base64')
}

/** The header fields of an unsigned request, as the actor's server sends them. */
export function draftHeaders({ method, url, body, at }: DraftRequest, { persona }: SimActor): Record<string, string> {
  const { host } = new URL(url)
  return {
    host,
    date: new Date(at).toUTCString(),
    'user-agent': `${persona.software}/${persona.version} (simulated)`,
    ...(method === 'GET' && { accept: `${activityType}, application/ld+json` }),
    ...(body && { ...schemes[persona.speaks].describeBody(body), 'content-type': activityType }),
  }
}

/** Adds the signature that the signer's server makes. `keyPem` may be another key than the signer's. */
export async function signDraft(
  draft: DraftRequest,
  signer: SimActor,
  keyPem?: string | undefined,
): Promise<Record<string, string>> {
  const key = keyPem ?? (await signer.key()).privatePem
  return schemes[signer.persona.speaks].sign({ ...draft, headers: draftHeaders(draft, signer), signer, key })
}
