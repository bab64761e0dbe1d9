/** Characters that show nothing but carry something: zero-width, bidi controls, soft hyphen, tags, fillers. */
const invisiblePattern =
  /\u034f|\u180e|[\u180b-\u180d]|[\u00ad\u061c\u115f\u1160\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/gu
// Line feed and tab stay.
const controlPattern = /[^\P{Cc}\n\t]/gu
const isPlainAscii = /^[\x20-\x7e\n\t]*$/
/** A few stand in honest text; a message written in them does not. */
const tolerated = 8
const maxNameLength = 200

export interface CleanText {
  readonly text: string
  /** True when more was hidden in it than honest text ever holds. */
  readonly hadHidden: boolean
}

/** Takes out what a human reader would not have seen. Joiners stay: scripts and emoji need them. */
export function cleanText(text: string): CleanText {
  if (isPlainAscii.test(text)) return { text, hadHidden: false }
  let removed = 0
  const visible = text.replace(invisiblePattern, () => {
    removed += 1
    return ''
  })
  return { text: visible.replace(controlPattern, ''), hadHidden: removed > tolerated }
}

/** A display name on one line, without tricks, or undefined when nothing is left. */
export function cleanName(name: string | undefined): string | undefined {
  const line = name && cleanText(name).text.replace(/\s+/g, ' ').trim().slice(0, maxNameLength)
  return line || undefined
}
