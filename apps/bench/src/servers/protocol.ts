/** What a measured server says once it listens. */
export interface Ready {
  readonly kind: 'ready'
  readonly port: number
}

/** How much a measured server has used and done so far. */
export interface Sample {
  /** CPU time of the whole process with all its threads, µs. */
  readonly cpu: number
  /** Resident memory, bytes. */
  readonly rss: number
  /** Messages that went the whole way: stored, and through the agent where there is one. */
  readonly handled: number
}

export interface Failed {
  readonly kind: 'failed'
  readonly error: string
}

interface SampleAnswer extends Sample {
  readonly kind: 'sample'
}

/** An order is done. */
interface Worked {
  readonly kind: 'worked'
  readonly result: unknown
}

export type FromServer = Ready | Failed | SampleAnswer | Worked
export type ToServer =
  | { readonly kind: 'sample' }
  | { readonly kind: 'work'; readonly order: unknown }
  | { readonly kind: 'stop' }

/** Where a server child finds its setup, as JSON. */
export const setupVariable = 'BENCH_SETUP'
