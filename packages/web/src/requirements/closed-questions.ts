// Records the questions of agents that people have closed without an answer.
import type { RecordStore } from '@postern/transcript'

type Records = Pick<RecordStore, 'get' | 'insert'>

const recordKeyOf = (owner: string, question: string) => ({ kind: 'closed-question', owner, key: question })

/** Closes a question permanently. Returns false if the question was closed before. */
export function closeQuestion(records: Records, owner: string, question: string): Promise<boolean> {
  return records.insert(recordKeyOf(owner, question), true)
}

/** Returns true if the owner has closed the question. */
export async function isQuestionClosed(records: Records, owner: string, question: string): Promise<boolean> {
  return (await records.get(recordKeyOf(owner, question))) !== undefined
}
