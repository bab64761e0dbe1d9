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
 * The work of one agent (for turns) or destination host (for deliveries) that may run concurrently, and that already runs here. Turns that other
 * holders run also count, except those that wait for another agent.
 */
interface Shares {
  readonly most: number
  /** The limits that differ from `most`, by agent or host. */
  readonly mostOf?: ReadonlyMap<string, number> | undefined
  readonly taken: ReadonlyMap<string, number>
}

/** The rank of a delivery: answers precede broadcasts. */
export type DeliveryRank = 'answer' | 'broadcast'

export interface DeliveryLeaseRequest extends LeaseRequest {
  readonly rank: DeliveryRank
}
