import { createHash } from 'node:crypto'
import type { SimActor } from './actor.ts'
import { loadHttpSignature } from './http-signature.ts'

export const activityType = 'application/activity+json'

export interface DraftRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly body?: Uint8Array | undefined
  /** Milliseconds since the epoch, for `Date`. */
  readonly at: number
}

/** `SHA-256=…`, the `Digest` of RFC 3230 as the fediverse writes it. */
export function computeDigest(body: Uint8Array): string {
  return `SHA-256=${createHash('sha256').update(body).digest('base64')}`
}

/** The header fields of an unsigned request, as Mastodon sends them. */
export function draftHeaders({ method, url, body, at }: DraftRequest, software: string): Record<string, string> {
  const { host } = new URL(url)
  return {
    host,
    date: new Date(at).toUTCString(),
    'user-agent': `${software} (simulated)`,
    ...(method === 'GET' && { accept: `${activityType}, application/ld+json` }),
    ...(body && { digest: computeDigest(body), 'content-type': activityType }),
  }
}

const signedFields = {
  GET: ['(request-target)', 'host', 'date'],
  POST: ['(request-target)', 'host', 'date', 'digest', 'content-type'],
} as const

/** Adds the `Signature` of draft-cavage-http-signatures to a draft. `keyPem` may be another key than the signer's. */
export async function signDraft(
  draft: DraftRequest,
  signer: SimActor,
  keyPem?: string | undefined,
): Promise<Record<string, string>> {
  const { persona, keyId } = signer
  const headers = draftHeaders(draft, `${persona.software}/${persona.version}`)
  const { pathname, search } = new URL(draft.url)
  const key = keyPem ?? (await signer.key()).privatePem
  loadHttpSignature().signRequest(
    {
      method: draft.method,
      path: pathname + search,
      getHeader: name => headers[name.toLowerCase()],
      setHeader: (name, value) => {
        headers[name.toLowerCase()] = value
      },
    },
    { key, keyId, algorithm: 'rsa-sha256', headers: signedFields[draft.method], authorizationHeaderName: 'signature' },
  )
  // The library knows no `hs2019`; the parameter itself is not signed.
  const signature = headers.signature?.replace('algorithm="rsa-sha256"', `algorithm="${persona.algorithm}"`) ?? ''
  return { ...headers, signature }
}
