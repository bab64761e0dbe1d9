// Records the questions of agents that people have closed without an answer.
import type { RecordStore } from '@postern/transcript'

type Records = Pick<RecordStore, 'get' | 'insert'>

const recordKeyOf = (owner: string, question: string) => ({ kind: 'closed-question', owner, key: question })

/** Closes a question permanently. It returns false if the question is closed already. */
export function closeQuestion(records: Records, owner: string, question: string): Promise<boolean> {
  return records.insert(recordKeyOf(owner, question), true)
}

/** Returns true if its person has closed a question. */
export async function isQuestionClosed(records: Records, owner: string, question: string): Promise<boolean> {
  return (await records.get(recordKeyOf(owner, question))) !== undefined
}
