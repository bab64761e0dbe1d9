// Marks the text of quoted posts that the gateway itself has fetched.
import type { TextPart } from '../part.ts'

/**
 * A text part of a quoted post. The schema of parts lacks the member, so it is removed from the parts of peers, agents and imports. Only the
 * background that a channel fetches for a turn gets it.
 */
interface QuotedText extends TextPart {
  readonly quoted: true
}

export function toQuotedText(part: TextPart): QuotedText {
  return { ...part, quoted: true }
}

/** Returns true if the gateway has fetched this text as a quotation. */
export function isQuoted(part: TextPart): part is QuotedText {
  return (part as Partial<QuotedText>).quoted === true
}
