/** Text as a reader sees it. */
export interface VisibleText {
  readonly text: string
  /** Characters that were taken out. */
  readonly invisible: number
}

/**
 * Characters that show nothing and can carry words only a machine reads: tags (U+E0000), zero-width spaces and joiners of words,
 * fillers, direction overrides. ZWJ and ZWNJ stay: emoji and several scripts need them.
 */
const invisible =
  /(\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{1,6}\u{e007f})|\u034f|[\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\u{e0000}-\u{e007f}]|[\u{e0100}-\u{e01ef}]/gu

/** The same in one line: a subject, a name. */
export function withoutInvisible(text: string): string {
  return text.replace(invisible, (_, flag?: string) => flag ?? '')
}

/** One kind of line end, no control characters, nothing that is not seen. */
export function readVisibleText(text: string): VisibleText {
  const plain = text.replace(/\r\n?/g, '\n').replace(/[^\P{Cc}\t\n]/gu, '')
  // England, Scotland and Wales have flags made of a black one and tags.
  let count = 0
  const visible = plain.replace(invisible, (_, flag?: string) => {
    if (flag === undefined) count += 1
    return flag ?? ''
  })
  return { text: visible.trim(), invisible: count }
}
