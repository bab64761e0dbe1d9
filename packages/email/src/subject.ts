import { withoutControls } from './encoded-words.ts'

/** Marks of answers, also those of other languages and counting ones (`RE[2]:`). */
const answerMark = /^\s*(?:re|aw|sv|antw|rif|odp|vs|ref|res|r)(?:\s?\[\d{1,3}\]|\s?\(\d{1,3}\))?\s*:\s*/i

/** The subject of an answer: one `Re:`, whatever was there before. */
export function replySubject(subject: string): string {
  let bare = withoutControls(subject)
  for (let mark = answerMark.exec(bare); mark; mark = answerMark.exec(bare)) bare = bare.slice(mark[0].length)
  return `Re: ${bare || '(no subject)'}`
}
