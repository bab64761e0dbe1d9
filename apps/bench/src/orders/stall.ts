/** Defines the orders that start and end a stall measurement. */
export type StallOrder = { readonly kind: 'start' } | { readonly kind: 'end' }

export interface StallSetup {
  /** The resolvers, in the format of `network.dns`. */
  readonly dns: readonly string[]
}

/** The names of the agents, all of which get the large mail. */
export const agents = Array.from({ length: 30 }, (_, index) => `agent${index}`)
