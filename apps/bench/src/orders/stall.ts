/** Starts a measurement, or ends it. */
export type StallOrder = { readonly kind: 'start' } | { readonly kind: 'end' }

export interface StallSetup {
  /** Resolvers, as `network.dns` has them. */
  readonly dns: readonly string[]
}

/** All of them get the large mail. */
export const agents = Array.from({ length: 30 }, (_, index) => `agent${index}`)
