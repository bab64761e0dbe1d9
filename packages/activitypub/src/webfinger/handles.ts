// Confirms the handles of actors, and resolves handles to actors.

import { createExpiringMap, createSingleFlight } from '@postern/limits'
import type { System } from '@postern/message'
import { parseIfAddress, Rejection, Undeliverable } from '@postern/message'
import type { IsBlocked } from '../domains/blocklist.ts'
import { isBlockedAddress } from '../domains/blocklist.ts'
import type { RemoteActor } from '../peers/actor-document.ts'
import type { ConfirmedName } from './confirm-name.ts'
import { confirmName, findActorIri, toUnconfirmed } from './confirm-name.ts'
import { createWebFinger } from './webfinger.ts'

export type Handles = ReturnType<typeof createHandles>

const nameCacheMs = { confirmed: 86_400_000, unconfirmed: 5 * 60_000 } as const

const maxNames = 10_000

interface HandleDeps extends Pick<System, 'fetch' | 'now'> {
  readonly isBlocked: IsBlocked
}

export function createHandles({ fetch, now, isBlocked }: HandleDeps) {
  const lookup = createWebFinger({ fetch, now, isBlockedAddress: url => isBlockedAddress(url, isBlocked) })
  const confirmedNames = createExpiringMap<ConfirmedName>(maxNames, now)
  const actorsByName = createExpiringMap<string>(maxNames, now)
  const share = createSingleFlight<ConfirmedName>()

  async function findConfirmedName(actor: RemoteActor): Promise<ConfirmedName> {
    const cachedName = confirmedNames.get(actor.id)
    if (cachedName) return cachedName
    const confirmedName = await share(actor.id, () => confirmName(actor, { lookup, isBlocked }).catch(toUnconfirmed))
    confirmedNames.set(actor.id, confirmedName, confirmedName.address ? nameCacheMs.confirmed : nameCacheMs.unconfirmed)
    return confirmedName
  }

  return {
    /**
     * Returns the `@user@host` of an actor if its host and the domain of the name both confirm it, else undefined. An invalid answer of a peer is
     * no error.
     * @throws Rejection `forbidden` if the name is on a blocked domain, which is not queried
     */
    async confirm(actor: RemoteActor): Promise<string | undefined> {
      const confirmedName = await findConfirmedName(actor)
      if (confirmedName.isBlocked) throw new Rejection('forbidden', 'Cannot accept activity: its host is blocked')
      return confirmedName.address
    },
    /**
     * Returns the IRI of the actor with an address. With `isCounted`, strangers may have chosen the address, so requests to its domain are
     * limited.
     * @throws Unavailable, Undeliverable, Rejection `rate_limited`
     */
    async resolve(text: string, { isCounted }: { readonly isCounted?: boolean | undefined } = {}): Promise<string> {
      const handle = actorsByName.get(text)
      if (handle) return handle
      const address = parseIfAddress(text)
      if (address && isCounted) lookup.countElsewhere('', address.domain)
      const actor = address && (await findActorIri(address, lookup))
      if (!actor) throw new Undeliverable('Cannot look up address: it names no actor')
      actorsByName.set(text, actor, nameCacheMs.confirmed)
      return actor
    },
    /** Returns the IRI of the actor with an address, if the address was resolved lately. */
    recall: (text: string) => actorsByName.get(text),
  }
}
