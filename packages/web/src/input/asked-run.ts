import type { RunAgentInput } from '@ag-ui/core'
import type { WebOwner } from '../speaker.ts'

/** A run that was asked for, before anything is stored of it. */
export interface AskedRun {
  readonly owner: WebOwner
  readonly agent: string
  readonly input: RunAgentInput
  readonly document: unknown
  readonly from: string
}

/** The run's id names a run that there was already: nothing is run again. */
export class RunRepeated extends Error {
  override readonly name = 'RunRepeated'
}
