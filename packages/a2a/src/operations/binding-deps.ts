import type { EndpointDeps } from '../endpoint/incoming.ts'
import type { LargeAnswers } from '../endpoint/large-answers.ts'
import type { Operations } from './operation.ts'

/** What each binding needs. */
export interface BindingDeps extends EndpointDeps {
  readonly operations: Operations
  readonly largeAnswers: LargeAnswers
}
