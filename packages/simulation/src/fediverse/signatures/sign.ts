import type { SimActor } from '../actors/actor.ts'
import type { SignatureScheme } from '../actors/persona.ts'
import { computeContentDigest, computeDigest } from './digest.ts'
import { signCavage } from './sign-cavage.ts'
import { signRfc9421 } from './sign-rfc9421.ts'
import type { DraftRequest, UnsignedRequest } from './unsigned-request.ts'

export const activityMediaType = 'application/activity+json'
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

/** The header fields of an unsigned request, as the actor's server sends them. */
export function draftHeaders({ method, url, body, at }: DraftRequest, { persona }: SimActor): Record<string, string> {
  const { host } = new URL(url)
  return {
    host,
    date: new Date(at).toUTCString(),
    'user-agent': `${persona.software}/${persona.version} (simulated)`,
    ...(method === 'GET' && { accept: `${activityMediaType}, application/ld+json` }),
    ...(body && { ...schemes[persona.speaks].describeBody(body), 'content-type': activityMediaType }),
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
