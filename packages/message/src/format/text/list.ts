// Formats names as a list in a sentence: `a`, `a and b`, `a, b and c`.
const list = new Intl.ListFormat('en-GB', { type: 'conjunction' })

export function formatList(names: readonly string[]): string {
  return list.format(names)
}
