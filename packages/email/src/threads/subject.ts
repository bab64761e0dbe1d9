import { decodeHeaderText, withoutControls } from '../text/encoded-words.ts'

/** Marks of answers, also those of other languages and counting ones (`RE[2]:`). */
const answerMark =
  /^\s*(?:re|aw|sv|antw|rif|odp|vs|ref|res|r|回复|回覆|答复|返信|답장|회신|отв|ответ)(?:\s?\[\d{1,3}\]|\s?\(\d{1,3}\))?\s*[:：]\s*/iu
/** Marks of what is passed on. `VS` is an answer in Finnish and passed on in Danish: nothing is cut from either. */
const forwardMark =
  /^\s*(?:\[[^\]]{0,60}\]\s*)?(?:fwd?|fw|wg|tr|trs|rv|enc|i|vb|vs|vl|pd|fs|ilt|i̇lt|iletilen|doorst|doorgestuurd|videresendt|vidarebefordrat|továbbítás|továbbítva|přep|πρθ|προωθ|пересл|переслано|пересылка|הועבר|إعادة توجيه|转发|轉寄|轉發|転送|전달|ส่งต่อ)(?:\s?\[\d{1,3}\]|\s?\(\d{1,3}\))?\s*[:：]/iu

/** The subject of an answer: one `Re:`, whatever was there before. */
export function replySubject(subject: string): string {
  let bare = withoutControls(subject)
  for (let mark = answerMark.exec(bare); mark; mark = answerMark.exec(bare)) bare = bare.slice(mark[0].length)
  return `Re: ${bare || '(no subject)'}`
}

/** Does the subject say that the mail passes another one on? @param field as it came, with encoded words (RFC 2047) */
export function isForwardSubject(field: string): boolean {
  return forwardMark.test(decodeHeaderText(field.slice(0, 2000)))
}
