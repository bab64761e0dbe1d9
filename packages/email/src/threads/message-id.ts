/**
 * Ids without brackets, in order. Commas and junk between them are ignored (RFC 5322 §3.6.4 in practice); one that does not
 * fit a line together with its field's name (RFC 5322 §2.1.1) could not be quoted in an answer, and is none.
 */
export function readMessageIds(value: string): string[] {
  return Array.from(value.matchAll(/<([^<>\s\p{Cc}]{1,900})>/gu), match => match[1] ?? '')
}

const [keptFirst, keptLast] = [5, 45]

/** The beginning and the end of a long chain of ids, where the root and the latest are. */
export function trimReferences(ids: readonly string[], first = keptFirst, last = keptLast): string[] {
  return ids.length <= first + last ? [...ids] : [...ids.slice(0, first), ...ids.slice(-last)]
}
