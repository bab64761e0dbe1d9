// Limits deliveries to inboxes that actors name on hosts other than their own.
import { createRateLimit } from '@postern/limits'
import type { Rejection } from '@postern/message'
import { Unavailable, Undeliverable } from '@postern/message'
import type { WithdrawalStore } from '@postern/pipeline'
import { findHost } from '../format/iri.ts'
import type { RemoteActor } from '../peers/actor-document.ts'

export type ForeignInboxLimits = ReturnType<typeof createForeignInboxLimits>

/** A delivery to an inbox on another host than its owner's. */
export interface ForeignDelivery {
  /** The IRI of the actor that owns the inbox. */
  readonly peer: string
  /** The host of the inbox. */
  readonly host: string
  /** True if the delivery is for all followers who share the inbox. */
  readonly isBroadcast: boolean
}

/** The maximum number of new followers, per minute and in one burst, whose inboxes are on the same foreign host. */
const newFollowerRate = { perMinute: 0.1, burst: 60 } as const
/** The maximum number of deliveries per minute to foreign inboxes on one host. A long answer is many posts, and a refused delivery is retried. */
const deliveriesPerMinute = 60
/** The statuses of an address that does not exist or accepts no posts. */
const noInboxStatuses: ReadonlySet<number | undefined> = new Set([404, 405, 410])

/**
 * Creates the limits for inboxes on other hosts. An actor may name an inbox on another host than its own without the consent of that host. A peer
 * that invents such actors must neither flood a host with an agent's posts nor stop the deliveries of others to that host.
 */
export function createForeignInboxLimits(store: Pick<WithdrawalStore, 'withdraw'>, now: () => number) {
  const newFollowerLimit = createRateLimit(newFollowerRate, now)
  const deliveryLimit = createRateLimit({ perMinute: deliveriesPerMinute }, now)

  /** Counts a delivery. A broadcast is dropped instead of postponed, because it would delay later deliveries to the same inbox. */
  function countDelivery({ host, isBroadcast: isForMany }: ForeignDelivery): void {
    const message = 'Cannot deliver: too much lately for inboxes that others named on this host'
    try {
      deliveryLimit.consume(host)
    } catch (cause) {
      if (isForMany) throw new Undeliverable(message, { cause })
      const { retryAfter = 60 } = cause as Rejection
      throw new Unavailable(message, { retryAfter, isHearsay: true, cause })
    }
  }

  return {
    /**
     * Checks the limit before an actor may follow.
     * @throws Rejection `rate_limited` if too many actors with an inbox on that host have followed lately
     */
    countFollower({ host, inbox }: Pick<RemoteActor, 'host' | 'inbox'>): void {
      const inboxHost = findHost(inbox ?? '')
      if (inboxHost && inboxHost !== host) newFollowerLimit.consume(inboxHost)
    },
    /**
     * Runs `deliver`, and ends the relations of an actor whose inbox does not exist or accepts no posts.
     * @throws the error of `deliver`; Unavailable or, for a broadcast, Undeliverable above the limit
     */
    async limitDelivery<Result>(delivery: ForeignDelivery, deliver: () => Promise<Result>): Promise<Result> {
      countDelivery(delivery)
      try {
        return await deliver()
      } catch (error) {
        if (error instanceof Undeliverable && noInboxStatuses.has(error.status))
          await store.withdraw('activitypub', [{ kind: 'end_relations', peer: delivery.peer }])
        throw error instanceof Unavailable ? toHearsay(error) : error
      }
    },
  }
}

function toHearsay(cause: Unavailable): Unavailable {
  const { message, status, retryAfter } = cause
  const retryOptions = { ...(status !== undefined && { status }), ...(retryAfter !== undefined && { retryAfter }) }
  return new Unavailable(message, { ...retryOptions, isHearsay: true, cause })
}
