import type { RunAgentInput } from '@ag-ui/core'
import type { WebOperator } from './verify-operator.ts'

/** A run of an operator, before it decides anything. */
export interface OperatorRun {
  readonly operator: WebOperator
  /** Shows only what waits for this agent. */
  readonly agent?: string | undefined
  readonly input: RunAgentInput
}
