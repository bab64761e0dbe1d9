/** Controls and what turns the direction of writing: a peer could repaint the operator's screen with them. */
const unshowable = /[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

/** One line for a terminal, whoever wrote it: what would not be seen as a character stands as `\u{…}`. */
export function toTerminalLine(text: string): string {
  return text.replace(unshowable, char => `\\u{${char.codePointAt(0)?.toString(16)}}`)
}
