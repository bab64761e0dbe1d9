import type { RunAgentInput } from '@ag-ui/core'
import type { WebOperator } from './verify-operator.ts'

/** A run of an operator, before anything is decided. */
export interface OperatorRun {
  readonly operator: WebOperator
  /** Only what waits for this agent. */
  readonly agent?: string | undefined
  readonly input: RunAgentInput
}
