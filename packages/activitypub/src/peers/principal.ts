import { parseIri } from '../format/iri.ts'
import type { RemoteActors } from './actor-cache.ts'
import type { Handles } from './webfinger.ts'

/** The actor behind an address, when its own host calls it by that address, too; else undefined. @throws like `Handles` and `RemoteActors` */
export function createPrincipalFinder({
  handles,
  actors,
}: {
  readonly handles: Handles
  readonly actors: RemoteActors
}): (address: string) => Promise<string | undefined> {
  return async address => {
    const actor = await actors.find(parseIri(await handles.resolve(address), 'the account'))
    return actor && (await handles.confirm(actor)) === address ? actor.id : undefined
  }
}
