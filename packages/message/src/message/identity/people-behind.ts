// Names the people for whom a sender speaks, so that limits tell them apart.
import type { Sender } from '../message.ts'

/**
 * Lists the people for whom a proven sender speaks by evidence of others, as a connector does: one key for each issuer and subject. Empty for
 * a sender who speaks for nobody else. An issuer counts once, by its host and as `did:web` of it.
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
