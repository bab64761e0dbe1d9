// Confirms the handles of actors, and resolves handles to actors.

import { createExpiringMap, createSingleFlight } from '@postern/limits'
import type { System } from '@postern/message'
import { parseIfAddress, Rejection, Undeliverable } from '@postern/message'
import type { IsBlocked } from '../domains/blocklist.ts'
import { isBlockedUrl } from '../domains/blocklist.ts'
import type { RemoteActor } from '../peers/actor-document.ts'
import type { ConfirmedName } from './confirm-name.ts'
import { confirmName, findActorIri, toUnconfirmedName } from './confirm-name.ts'
import { createWebFinger } from './webfinger.ts'

export type Handles = ReturnType<typeof createHandles>

const nameCacheMs = { confirmed: 86_400_000, unconfirmed: 5 * 60_000 } as const

const maxNames = 10_000

interface HandleDeps extends Pick<System, 'fetch' | 'now'> {
  readonly isBlocked: IsBlocked
}

export function createHandles({ fetch, now, isBlocked }: HandleDeps) {
  const webFinger = createWebFinger({ fetch, now, isBlockedUrl: url => isBlockedUrl(url, isBlocked) })
  const confirmedNames = createExpiringMap<ConfirmedName>(maxNames, now)
  const irisByHandle = createExpiringMap<string>(maxNames, now)
  const singleFlight = createSingleFlight<ConfirmedName>()

  async function findConfirmedName(actor: RemoteActor): Promise<ConfirmedName> {
    const confirmedName = await singleFlight(actor.id, () =>
      confirmName(actor, { webFinger, isBlocked }).catch(toUnconfirmedName),
    )
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
      const confirmedName = confirmedNames.get(actor.id) ?? (await findConfirmedName(actor))
      if (confirmedName.isBlocked) throw new Rejection('forbidden', 'Cannot accept activity: its host is blocked')
      return confirmedName.address
    },
    /**
     * Returns the IRI of the actor with this handle. Set `isRateLimited` if a stranger chose the handle, so that requests to its domain are
     * limited.
     * @throws Unavailable, Undeliverable, Rejection `rate_limited`
     */
    async resolve(
      handle: string,
      { isRateLimited }: { readonly isRateLimited?: boolean | undefined } = {},
    ): Promise<string> {
      const cachedIri = irisByHandle.get(handle)
      if (cachedIri) return cachedIri
      const address = parseIfAddress(handle)
      if (address && isRateLimited) webFinger.limitRequest('', address.domain)
      const actor = address && (await findActorIri(address, webFinger))
      if (!actor) throw new Undeliverable('Cannot look up address: it names no actor')
      irisByHandle.set(handle, actor, nameCacheMs.confirmed)
      return actor
    },
    /** Returns the IRI of the actor with this handle, if the handle was resolved lately. */
    findResolved: (handle: string) => irisByHandle.get(handle),
  }
}
