/** Text as a reader sees it. */
export interface VisibleCharacters {
  readonly text: string
  /** Characters that were taken out. */
  readonly invisible: number
}

/**
 * Characters that show nothing and can carry words only a machine reads: tags (U+E0000), zero-width spaces and joiners of words,
 * fillers, variation selectors of Mongolian, direction overrides. ZWJ and ZWNJ stay: emoji and several scripts need them, and so do the
 * flags of England, Scotland and Wales, made of a black one and tags.
 */
const invisible =
  /(\u{1f3f4}[\u{e0030}-\u{e0039}\u{e0061}-\u{e007a}]{1,6}\u{e007f})|\u034f|\u180e|[\u180b-\u180d]|[\u00ad\u061c\u115f\u1160\u17b4\u17b5\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu
/** Line feed and tab stay. */
const controls = /[^\P{Cc}\n\t]/gu
const isPlain = /^[\x20-\x7e\n\t]*$/

/** Takes out what a human reader would not have seen. */
export function readVisibleCharacters(text: string): VisibleCharacters {
  if (isPlain.test(text)) return { text, invisible: 0 }
  let count = 0
  const visible = text.replace(invisible, (_, flag?: string) => {
    if (flag === undefined) count += 1
    return flag ?? ''
  })
  return { text: visible.replace(controls, ''), invisible: count }
}
