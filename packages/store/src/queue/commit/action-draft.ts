// Declares the actions of agents as they are formatted before the transaction begins.
import type { Blob, PlannedAction } from '@postern/pipeline'
import type { Operation } from '../../sql/operation.ts'
import type { Batch } from '../../transaction/batch.ts'
import type { PartialAnswerDraft } from './partial-answers.ts'

/** An action, formatted before the transaction begins. */
export interface ActionDraft {
  readonly action: PlannedAction
  /** The columns of a post. Undefined for other actions. */
  readonly partialAnswer: PartialAnswerDraft | undefined
}

/** Stores the actions of agents other than answers. */
export interface ActionWriter {
  draft(act: PlannedAction): ActionDraft
  /** Stores an action, inside a write. It stores nothing if the object of the action no longer exists. */
  write(batch: Batch, draft: ActionDraft, correlationId: string, now: number): Operation<void>
}

/** Lists the files of an action. */
export function listActionBlobs(act: PlannedAction): readonly Blob[] {
  if (act.kind === 'post') return act.answer.blobs ?? []
  return act.kind === 'edit' ? (act.blobs ?? []) : []
}
