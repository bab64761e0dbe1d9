import type { NormalizedMessage } from '@postern/core'
import { subjectOf } from '@postern/core'
import type { RecordShelf, ShelfPlace } from '@postern/transcript'
import type { TurnState } from './turn-state.ts'

/**
 * The shelf as one turn sees it. Who speaks is kept with the answer: a turn that failed has handed nobody over. Bans are of a person, in
 * whatever conversation he comes next.
 */
export function createTurnShelf(
  shelf: RecordShelf,
  { kept, message }: { readonly kept: TurnState; readonly message: Pick<NormalizedMessage, 'sender' | 'received_via'> },
): RecordShelf {
  const isNavigation = ({ kind }: ShelfPlace) => kind === 'swarm-navigation'
  const { sender, received_via } = message
  const subject = subjectOf(sender)
  const person = `${received_via} ${sender.address.toLowerCase()}`

  function placeOf(place: ShelfPlace): ShelfPlace {
    if (place.kind !== 'swarm-ban') return place
    const [swarmName, policyName] = JSON.parse(place.key) as readonly string[]
    return { ...place, key: JSON.stringify([swarmName, policyName, subject]) }
  }

  return {
    ...shelf,
    async get(place) {
      if (!isNavigation(place)) return shelf.get(placeOf(place))
      return kept.navigation === undefined ? undefined : { key: place.key, value: kept.navigation, version: 1 }
    },
    async put(place, value) {
      if (isNavigation(place)) kept.keepNavigation(value)
      else await shelf.put(placeOf(place), value)
    },
    insert: (place, value) => shelf.insert(placeOf(place), value, place.kind === 'swarm-ban' ? { person } : {}),
    remove: place => shelf.remove(placeOf(place)),
  }
}
