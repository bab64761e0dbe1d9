// Describes a request for leases on turns or deliveries that are due.

export interface LeaseRequest {
  /** The name of the worker, one for each process. */
  readonly holder: string
  readonly limit: number
  /** The duration of the lease from now, in ms. */
  readonly leaseMs: number
  readonly shares?: Shares | undefined
}

/**
 * The limits of concurrent work by group, and the slots that the worker uses already. The group of a turn is its agent, that of a delivery is its
 * destination host. Turns that other holders run also count, except those that wait for another agent.
 */
interface Shares {
  readonly maxPerGroup: number
  /** The limits that differ from `maxPerGroup`. */
  readonly maxByGroup?: ReadonlyMap<string, number> | undefined
  readonly usedByGroup: ReadonlyMap<string, number>
}

/** The rank of a delivery: answers precede broadcasts. */
export type DeliveryRank = 'answer' | 'broadcast'

export interface DeliveryLeaseRequest extends LeaseRequest {
  readonly rank: DeliveryRank
}
