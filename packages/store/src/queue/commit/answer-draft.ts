// Formats an answer as its columns before its transaction.
import type { Answer, Blob, MessageState, TaskState } from '@postern/pipeline'
import type { NoteDraft } from '../../messages/notes.ts'
import { draftNote } from '../../messages/notes.ts'
import { formatJson } from '../../sql/json-columns.ts'
import { formatAttempt } from '../turns/turn-attempts.ts'
import type { ActionDraft, ActionWriter } from './action-draft.ts'
import { blobsOfAction } from './action-draft.ts'
import type { PartialAnswerDraft } from './partial-answers.ts'
import { draftPartialAnswer } from './partial-answers.ts'

/** An answer as its columns. It is formatted before the transaction. */
export interface AnswerColumns {
  readonly state: MessageState
  readonly taskState: TaskState
  readonly answer: Answer
  readonly partialAnswer: PartialAnswerDraft | undefined
  readonly acts: readonly ActionDraft[]
  readonly notes: readonly NoteDraft[]
  readonly agentState: string | undefined
  /** The attempt of the turn, as a line of JSON. */
  readonly attempt: string
}

export function draftAnswer(answer: Answer, address: string, actions: Pick<ActionWriter, 'draft'>): AnswerColumns {
  const { response, state, acts = [], notes = [] } = answer
  return {
    state: messageStateOf(answer),
    taskState: response?.status ?? (answer.error === undefined ? 'completed' : 'failed'),
    answer,
    partialAnswer: response && draftPartialAnswer(answer, response),
    acts: acts.map(actions.draft),
    notes: notes.map(note => draftNote(note, address)),
    agentState: state === undefined ? undefined : formatJson(state),
    attempt: formatAttempt(answer.attempt),
  }
}

/** Lists the files of an answer and of its actions. */
export function blobsOf({ blobs = [], acts = [] }: Answer): readonly Blob[] {
  return [...blobs, ...acts.flatMap(blobsOfAction)]
}

function messageStateOf({ response, error }: Answer): MessageState {
  if (response) return response.status === 'failed' ? 'failed' : 'answered'
  return error === undefined ? 'ignored' : 'failed'
}
