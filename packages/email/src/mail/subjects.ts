// Recognizes the prefixes of subjects that mark a reply or a forwarded message, in many languages.
import { decodeHeaderText, replaceControls } from './header-text.ts'

/** Prefixes of replies in many languages, also with a count (`RE[2]:`). */
const replyPrefix =
  /^\s*(?:re|aw|sv|antw|rif|odp|vs|ref|res|r|回复|回覆|答复|返信|답장|회신|отв|ответ)(?:\s?\[\d{1,3}\]|\s?\(\d{1,3}\))?\s*[:：]\s*/iu

/** Prefixes of forwarded messages. `VS` marks a reply in Finnish and a forwarded message in Danish, so it is never removed. */
const forwardPrefix =
  /^\s*(?:\[[^\]]{0,60}\]\s*)?(?:fwd?|fw|wg|tr|trs|rv|enc|i|vb|vs|vl|pd|fs|ilt|i̇lt|iletilen|doorst|doorgestuurd|videresendt|vidarebefordrat|továbbítás|továbbítva|přep|πρθ|προωθ|пересл|переслано|пересылка|הועבר|إعادة توجيه|转发|轉寄|轉發|転送|전달|ส่งต่อ)(?:\s?\[\d{1,3}\]|\s?\(\d{1,3}\))?\s*[:：]/iu

/** Returns the subject of a reply with one `Re:`, regardless of earlier prefixes. */
export function replySubject(subject: string): string {
  let strippedSubject = replaceControls(subject)
  for (let prefix = replyPrefix.exec(strippedSubject); prefix; prefix = replyPrefix.exec(strippedSubject))
    strippedSubject = strippedSubject.slice(prefix[0].length)
  return `Re: ${strippedSubject || '(no subject)'}`
}

/** Returns true if a subject marks a reply. `field` is the raw field with its encoded words (RFC 2047). */
export function isReplySubject(field: string): boolean {
  return replyPrefix.test(decodeHeaderText(field.slice(0, 2000)))
}

/** Returns true if a subject marks a forwarded message. `field` is the raw field with its encoded words (RFC 2047). */
export function isForwardSubject(field: string): boolean {
  return forwardPrefix.test(decodeHeaderText(field.slice(0, 2000)))
}
