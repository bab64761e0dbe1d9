import type { AgentDirectory, Channel, PeopleStore, PersonLink } from '@postern/core'
import { Rejection, readChannelAddress, readPersonAddress } from '@postern/core'
import { containsText, filterPage, isWithin, passing } from '../../api/filter-page.ts'
import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import { peopleOperations } from './operations.ts'

export interface PeopleRouteOptions {
  readonly store: Pick<PeopleStore, 'listLinks' | 'forgetPerson'>
  readonly agents: Pick<AgentDirectory, 'domain'>
  readonly channels: readonly Pick<Channel, 'descriptor'>[]
}

const problem =
  'Cannot forget: say "address", as @name@server.example or name@example.org, "via", an open channel, where the address does not tell it, and "agent" if only one is to forget'

/** Which addresses are of one person, and the operator's word that somebody is to be forgotten. */
export function createPeopleRoutes({ store, agents, channels }: PeopleRouteOptions): readonly OperatorRoute[] {
  return [
    handleOperation(peopleOperations.list, ({ query }) =>
      filterPage(
        query,
        page => store.listLinks({ agent: query.agent, ...page }),
        passing(link => isWithin(link.since, query) && hasAddress(link, query)),
      ),
    ),
    handleOperation(peopleOperations.forget, async ({ body: { address, via, agent } }) => {
      const named =
        via === undefined
          ? readPersonAddress(address, channels, agents.domain)
          : readChannelAddress(address, via, channels, agents.domain)
      if (!named) throw new Rejection('malformed', problem)
      const forgotten = await store.forgetPerson({ agent, addresses: [named] })
      return { address, agent: agent ?? null, ...forgotten }
    }),
  ]
}

function hasAddress(
  { asker, target }: PersonLink,
  { channel, sender }: { readonly channel?: string | undefined; readonly sender?: string | undefined },
): boolean {
  return [asker, target].some(
    ({ via, address }) => (channel === undefined || via === channel) && containsText(address, sender),
  )
}
