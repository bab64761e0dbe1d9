// Formats an action as its columns before its transaction.
import type { Blob, PlannedAction } from '@postern/pipeline'
import type { Batch } from '../../transaction/batch.ts'
import type { PartialAnswerDraft } from './partial-answers.ts'

/** An action as its columns. It is formatted before the transaction. */
export interface ActionDraft {
  readonly act: PlannedAction
  /** The content of a post. */
  readonly partialAnswer: PartialAnswerDraft | undefined
}

/** Stores the actions that agents take besides answering. */
export interface ActionWriter {
  draft(act: PlannedAction): ActionDraft
  /** Stores an action, inside a write. It does nothing if the object of the action no longer exists. */
  write(batch: Batch, draft: ActionDraft, correlationId: string, now: number): void
}

/** Lists the files of an action. */
export function blobsOfAction(act: PlannedAction): readonly Blob[] {
  if (act.kind === 'post') return act.answer.blobs ?? []
  return act.kind === 'edit' ? (act.blobs ?? []) : []
}
