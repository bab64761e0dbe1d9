// Formats an answer as the columns of its rows before the transaction begins.
import type { Answer, Blob, MessageState, TaskState } from '@postern/pipeline'
import type { NoteDraft } from '../../messages/notes.ts'
import { draftNote } from '../../messages/notes.ts'
import { formatJson } from '../../sql/json-columns.ts'
import { formatAttempt } from '../turns/turn-attempts.ts'
import type { ActionDraft, ActionWriter } from './action-draft.ts'
import { listActionBlobs } from './action-draft.ts'
import type { PartialAnswerDraft } from './partial-answers.ts'
import { draftPartialAnswer } from './partial-answers.ts'

/** An answer as the columns of its rows, formatted before the transaction begins. */
export interface AnswerColumns {
  readonly state: MessageState
  readonly taskState: TaskState
  readonly answer: Answer
  readonly partialAnswer: PartialAnswerDraft | undefined
  readonly acts: readonly ActionDraft[]
  readonly notes: readonly NoteDraft[]
  readonly agentState: string | undefined
  /** The attempt of the turn as a line of JSON. */
  readonly attempt: string
}

export function draftAnswer(answer: Answer, address: string, actions: Pick<ActionWriter, 'draft'>): AnswerColumns {
  const { response, state, acts = [], notes = [] } = answer
  return {
    state: chooseMessageState(answer),
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
export function listAnswerBlobs({ blobs = [], acts = [] }: Answer): readonly Blob[] {
  return [...blobs, ...acts.flatMap(listActionBlobs)]
}

function chooseMessageState({ response, error }: Answer): MessageState {
  if (response) return response.status === 'failed' ? 'failed' : 'answered'
  return error === undefined ? 'ignored' : 'failed'
}
