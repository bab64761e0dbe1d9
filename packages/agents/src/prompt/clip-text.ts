/** At most `most` UTF-16 code units, without half characters. */
export function clipText(text: string, most: number): string {
  return text.length > most
    ? `${text
        .slice(0, most)
        .toWellFormed()
        .replace(/\ufffd$/, '')}…`
    : text
}
