// Finds the actor with an address that the actor's own host confirms.

import { parseIri } from '../format/iri.ts'
import type { ActorCache } from '../peers/actor-cache.ts'
import type { Handles } from './handles.ts'

/**
 * Creates the finder. It returns the actor with an address if the actor's own host confirms the address, else undefined.
 * @throws like `Handles` and `ActorCache`
 */
export function createPrincipalFinder({ handles, actors }: { handles: Handles; actors: ActorCache }) {
  return async (address: string): Promise<string | undefined> => {
    const actor = await actors.find(parseIri(await handles.resolve(address), 'the account'))
    return actor && (await handles.confirm(actor)) === address ? actor.id : undefined
  }
}
