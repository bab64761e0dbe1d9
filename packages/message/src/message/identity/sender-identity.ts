// Lets an agent query the proven identities of its sender.

import type { Sender } from '../message.ts'
import type { IdentityQuery } from './access.ts'
import { haveIdentity } from './access.ts'
import type { IdentityEvidence } from './identity.ts'

/** The proven identities of a sender, which an agent can query before it acts. */
export interface SenderIdentity {
  /** Lists every identity that is proven and admitted. */
  list(): readonly IdentityEvidence[]
  /**
   * Returns true if one identity meets all criteria. If the sender acts on behalf of others, each of them must meet the criteria as well
   * (`on_behalf_of` never widens a right). An unknown or empty criterion is never met.
   */
  has(query: IdentityQuery): boolean
}

/** Creates `context.identity`. */
export function createSenderIdentity({ identities = [] }: Pick<Sender, 'identities'>): SenderIdentity {
  return {
    list: () => identities,
    has: query => haveIdentity(identities, query),
  }
}
