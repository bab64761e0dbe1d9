import type { Address } from '@postern/core'
import { formatAddress, Rejection, Unavailable, Undeliverable } from '@postern/core'
import { createExpiringMap } from '../cache/expiring-map.ts'
import { createSharedWork } from '../cache/shared-work.ts'
import type { IsBlocked } from './blocklist.ts'
import type { NameLookup, NameLookupDeps } from './name-lookup.ts'
import { createNameLookup, toAddress } from './name-lookup.ts'
import type { RemoteActor } from './remote-actor.ts'

export interface Handles {
  /**
   * `@user@host` of an actor, when its host and the name's domain both confirm it; else undefined. A bad answer of a
   * peer is no error.
   * @throws Rejection `forbidden` when the name is of a blocked domain, which is not asked
   */
  confirm(actor: RemoteActor): Promise<string | undefined>
  /**
   * The actor IRI behind an address. `isCounted`: strangers may have chosen it (they had an agent say it), so look-ups on its domain are bounded.
   * @throws Unavailable, Undeliverable, Rejection `rate_limited`
   */
  resolve(address: string, options?: { readonly isCounted?: boolean | undefined }): Promise<string>
  /** The actor IRI behind an address, if it was resolved lately. */
  recall(address: string): string | undefined
}

/** The result of a look at an actor's name. */
interface Named {
  readonly address: string | undefined
  readonly isBlocked?: true
}

interface ConfirmDeps {
  readonly lookup: NameLookup
  readonly isBlocked: IsBlocked
}

const withheld: Named = { address: undefined }
const keepMs = { confirmed: 86_400_000, withheld: 5 * 60_000 } as const
const maxNames = 10_000

export function createHandles(deps: NameLookupDeps): Handles {
  const { now, isBlocked } = deps
  const lookup = createNameLookup(deps)
  const confirmed = createExpiringMap<Named>(maxNames, now)
  const resolved = createExpiringMap<string>(maxNames, now)
  const share = createSharedWork<Named>()

  async function name(actor: RemoteActor): Promise<Named> {
    const known = confirmed.get(actor.id)
    if (known) return known
    const named = await share(actor.id, () => confirmName(actor, { lookup, isBlocked }).catch(withholdName))
    confirmed.set(actor.id, named, named.address ? keepMs.confirmed : keepMs.withheld)
    return named
  }

  return {
    async confirm(actor) {
      const named = await name(actor)
      if (named.isBlocked) throw new Rejection('forbidden', 'Cannot accept activity: its host is blocked')
      return named.address
    },
    async resolve(text, { isCounted = false } = {}) {
      const known = resolved.get(text)
      if (known) return known
      const address = toAddress(text)
      if (address && isCounted) lookup.countElsewhere('', address.domain)
      const actor = address && (await findActor(address, lookup))
      if (!actor) throw new Undeliverable('Cannot look up address: it names no actor')
      resolved.set(text, actor, keepMs.confirmed)
      return actor
    },
    recall: text => resolved.get(text),
  }
}

/** A name's domain may differ from the actor's host: then that domain has to give the same answer. */
async function confirmName({ id, host, username }: RemoteActor, { lookup, isBlocked }: ConfirmDeps): Promise<Named> {
  const asked = username ? toAddress(`${username}@${host}`) : undefined
  if (!asked) return withheld
  const first = await lookup.find(asked)
  const named = toAddress(first.subject)
  if (first.actor !== id || named?.local !== asked.local) return withheld
  if (named.domain === asked.domain) return { address: formatAddress(named) }
  if (isBlocked(named.domain)) return { ...withheld, isBlocked: true }
  lookup.countElsewhere(host, named.domain)
  const second = await lookup.find(named)
  const repeated = toAddress(second.subject)
  const isSame = second.actor === id && repeated?.local === named.local && repeated.domain === named.domain
  return isSame ? { address: formatAddress(named) } : withheld
}

/** A peer that cannot be asked, or answers nonsense, confirms nothing. */
function withholdName(error: unknown): Named {
  if (error instanceof Unavailable || error instanceof Undeliverable || error instanceof Rejection) return withheld
  throw error
}

async function findActor(address: Address, lookup: NameLookup): Promise<string | undefined> {
  try {
    return (await lookup.find(address)).actor
  } catch (error) {
    if (!(error instanceof Rejection) || error.code === 'rate_limited') throw error
    throw new Undeliverable('Cannot look up address: the answer cannot be read', { cause: error })
  }
}
