import { hash } from 'node:crypto'
import type { NormalizedMessage, Proof, UsedKey } from '@postern/core'
import { isoTime, mintTransportEvidence, parseJsonText } from '@postern/core'
import type { RequestHead, ScopedCaller } from '@postern/http/tokens'

/** Who is at the other end: proven by the credential alone, whatever body or query say. */
export interface WebPerson {
  /** Key of all that is theirs; tasks under it are kept until they are forgotten. */
  readonly owner: string
  readonly subject: string
  readonly issuer: string
  readonly address: string
}

/** The same, with what the credential allows. */
export interface WebOwner extends WebPerson, ScopedCaller {
  /** The key of the issuer that verified the token. */
  readonly usedKey?: UsedKey | undefined
}

/** How somebody who chats is proven. */
export function proofOf({ issuer, subject }: Pick<WebPerson, 'issuer' | 'subject'>): Proof {
  return { kind: 'bearer', verdict: 'pass', issuer, subject }
}

/** What a request is for, where its method does not tell. */
export type WebAction = 'read' | 'write' | 'cancel'

/**
 * Who sends a request; `act` defaults to `read` for GET and `write` for all else.
 * @throws CredentialRejection unsigned, signature_invalid, expired, replayed, forbidden where the token lacks the scope; Unavailable
 */
export type VerifyOwner = (visit: RequestHead, act?: WebAction) => Promise<WebOwner>

/** The sender as agents see them. */
export function senderOf(
  { address, subject, issuer }: Pick<WebPerson, 'address' | 'subject' | 'issuer'>,
  audience: string,
  at: number,
): NormalizedMessage['sender'] {
  const evidence = {
    method: 'a2a-oauth',
    subject,
    issuer,
    assurance: 'oauth',
    audience,
    issuedAt: isoTime(at),
  } as const
  return { address, auth_method: 'a2a-oauth', verified: true, identities: [mintTransportEvidence(evidence)] }
}

/** Whose key it is, as the store knows who may decide. */
export function senderOfKey(owner: string): NormalizedMessage['sender'] {
  const [issuer = '', subject = ''] = parseJsonText(owner.slice('web:'.length)) as readonly string[]
  return senderOf({ issuer, subject, address: '' }, '', 0)
}

export function namePerson(issuer: string, subject: string, host: string): WebPerson {
  const isPlain = /^[a-z0-9][a-z0-9._-]{0,40}$/.test(subject)
  // No plain name begins like the others, so that nobody can be called like one of them.
  const local = isPlain ? subject : `_${hash('sha256', subject).slice(0, 24)}`
  return { owner: formatChatOwner(issuer, subject), subject, issuer, address: `@${local}@${host}` }
}

/** People of an issuer have a host of their own below ours: nobody is taken for an agent, or for another issuer's of the same name. */
export function tagOf(issuer: string): string {
  return `i${hash('sha256', issuer).slice(0, 10)}`
}

/** The principal of somebody who chats, as the issuer of a token names them: the owner of all that is theirs. */
export function formatChatOwner(issuer: string, subject: string): string {
  return `web:${JSON.stringify([issuer, subject])}`
}
