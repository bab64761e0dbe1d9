// Lets an agent query the proven identities of its sender.

import type { Sender } from '../message.ts'
import type { IdentityQuery } from './access.ts'
import { haveIdentity } from './access.ts'
import type { IdentityEvidence } from './identity.ts'

/** A query that an agent can make about its sender before it acts. */
export interface SenderIdentity {
  /** Every identity that is proven and admitted. */
  list(): readonly IdentityEvidence[]
  /**
   * Tells whether one identity meets all criteria. If the sender acts on behalf of others, each of them has to meet the criteria, too
   * (`on_behalf_of` never widens a right). An unknown or empty criterion is never met.
   */
  has(query: IdentityQuery): boolean
}

/** The data behind `context.identity`. */
export function createSenderIdentity({ identities = [] }: Pick<Sender, 'identities'>): SenderIdentity {
  return {
    list: () => identities,
    has: query => haveIdentity(identities, query),
  }
}
