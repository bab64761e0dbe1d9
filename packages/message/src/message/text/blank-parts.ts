// Recognizes parts that show nothing to a reader.
import type { Part, TextPart } from '../part.ts'

/** Matches a text of only invisible characters. */
const blankPattern = /^[\s\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]*$/u

const spaceEntity = /&(?:nbsp|ensp|emsp|thinsp|zwj|zwnj|shy|#160|#xa0);/gi

/** Matches a tag, except of elements that show something without text. A tag ends before the next one begins, so matching takes linear time. */
const plainTag = /<(?!(?:audio|canvas|embed|hr|iframe|img|input|math|object|picture|svg|video)\b)[^<>]*>/gi

/** Returns true if a text part shows nothing to a reader. */
function isBlankText({ mime, content }: TextPart): boolean {
  if (blankPattern.test(content)) return true
  if (mime === 'text/plain') return false
  const text = content.replace(spaceEntity, '')
  return blankPattern.test(mime === 'text/html' ? text.replace(plainTag, '') : text)
}

function isBlank(part: Part): boolean {
  return part.kind === 'text' && isBlankText(part)
}

/** Returns true if parts show nothing: there are none, or all of them are blank text. */
export function showNothing(parts: readonly Part[]): boolean {
  return parts.every(isBlank)
}
