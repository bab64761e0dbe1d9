// Finds the contact point of an agent in schema.org data (MN-1.5).
import type { PeerView } from '../view/peer.ts'
import type { FetchedObject } from '../view/peer-fetch.ts'
import { objectOrUndefined, textOrUndefined } from '../view/peer-fetch.ts'

export const contactPointFix =
  'Describe it as a schema.org Organization with one ContactPoint for each agent (JSON-LD).'

/** Finds the contact point of the agent, by its account, its mail or its card. */
export function findContactPoint(
  { contactPoint }: FetchedObject,
  { account, card, address }: PeerView,
): FetchedObject | undefined {
  const ownAddresses = new Set([account, `${address.local}@${address.domain}`, card?.url])
  const contactPoints = Array.isArray(contactPoint) ? contactPoint : [contactPoint]
  return contactPoints
    .map(objectOrUndefined)
    .find(point =>
      [point?.url, point?.email, ...webFingersOf(point)].some(value =>
        ownAddresses.has(textOrUndefined(value)?.replace(/^mailto:/, '')),
      ),
    )
}

/** Returns the WebFinger values. The term may be a full IRI, or have any prefix of the context. */
function webFingersOf(point: FetchedObject | undefined): readonly unknown[] {
  return Object.entries(point ?? {}).flatMap(([term, value]) => (/[#:]webfinger$/.test(term) ? [value] : []))
}
