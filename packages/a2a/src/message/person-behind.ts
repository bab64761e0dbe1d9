// Distinguishes the people who call through one connector.
import { hash } from 'node:crypto'
import { listPeopleBehind } from '@postern/message'
import type { Call } from '../endpoint/call.ts'
import type { SenderEvidence } from './mentionable.ts'

/** The factor by which the limits of callers who share one owner exceed those of a single caller. */
export const sharedOwnerFactor = 10

/**
 * Returns a key for the person for whom a connector calls, from the accepted evidence, or undefined for a caller who speaks for themselves. The
 * key is a digest, because it is stored.
 */
export function findPersonBehind(
  { caller }: Pick<Call, 'caller'>,
  { accepted }: Pick<SenderEvidence, 'accepted'>,
): string | undefined {
  const [person] = listPeopleBehind({ verified: !caller.isAnonymous, identities: [...accepted] })
  return person === undefined ? undefined : hash('sha256', person, 'base64url')
}
