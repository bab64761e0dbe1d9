import type { Policy } from '../../message/part.ts'

/** A policy as it is for whom it was made: with the state and the address by which he decides. */
export type ShowRequirement = (policy: Policy) => Policy
