// Marks texts of posts that a message quotes, as the gateway itself has fetched them.
import type { TextPart } from '../part.ts'

/**
 * A text part of a quoted post. The schema of parts does not have the member, and so drops it from what peers, agents and imports give; only what a
 * channel fetches as the background of a turn gets it.
 */
interface QuotedText extends TextPart {
  readonly quoted: true
}

export function toQuotedText(part: TextPart): QuotedText {
  return { ...part, quoted: true }
}

/** Checks whether the gateway has fetched this text as a quotation. */
export function isQuoted(part: TextPart): part is QuotedText {
  return (part as Partial<QuotedText>).quoted === true
}
