// Lists the people for whom a sender speaks, so that limits count each of them separately.
import type { Sender } from '../message.ts'

/**
 * Lists the people for whom a proven sender, such as a connector, speaks by evidence of other issuers: one key for each issuer and subject. The list
 * is empty for a sender who speaks only for themselves. A host and its `did:web` are the same issuer.
 */
export function listPeopleBehind({
  verified,
  identities = [],
}: Pick<Sender, 'verified' | 'identities'>): readonly string[] {
  if (!verified) return []
  const people = identities.filter(({ proof }) => proof.type !== 'transport')
  const keys = people.map(({ issuer, subject }) => JSON.stringify([issuer.replace(/^did:web:/, ''), subject]))
  return [...new Set(keys)].sort()
}
