/** Controls and what turns the direction of writing: a peer could repaint the operator's screen with them. */
const unshowable = /[\p{Cc}\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

/** The same, but for what parts lines and columns. */
const unprintable = /[^\P{Cc}\n\t]|[\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu

/** One line for a terminal, whoever wrote it: what would not be seen as a character stands as `\u{…}`. */
export function toTerminalLine(text: string): string {
  return text.replace(unshowable, char => `\\u{${char.codePointAt(0)?.toString(16)}}`)
}

/** Whatever a command prints, JSON of others too: what would not be seen stands as `\uXXXX`, which JSON reads back as the same. */
export function toTerminalOutput(text: string): string {
  return text.replace(unprintable, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
