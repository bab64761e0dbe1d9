import type { Sender } from '../message.ts'

/**
 * The principal that the transport proved, and the one they speak for by other evidence. Behind one connector are many
 * people, and none of them decides for another. A sender without proof is only their address.
 */
export function subjectOf({ address, identities = [], verified }: Sender): string {
  const proven = verified ? identities.find(({ proof }) => proof.type === 'transport') : undefined
  if (!proven) return `unverified ${address}`
  const others = identities.filter(({ proof }) => proof.type !== 'transport')
  const named = others.flatMap(({ issuer, subject, on_behalf_of = [] }) =>
    [subject, ...on_behalf_of].map(name => JSON.stringify([issuer, name])),
  )
  return JSON.stringify([proven.issuer, proven.subject, ...new Set(named.sort())])
}
