import type { Policy } from '../../message/part.ts'

/** A policy in the form for its addressee: with the state and the address for their decision. */
export type ShowRequirement = (policy: Policy) => Policy
