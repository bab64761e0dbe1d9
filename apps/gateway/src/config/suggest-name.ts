// Finds the existing name that an operator meant by a misspelled one.
import { distance } from 'fastest-levenshtein'

/** Returns the valid name that is one or two letters away, or `undefined`. */
export function suggestName(name: string, validNames: Iterable<string>): string | undefined {
  const nearNames = [...validNames]
    .map(candidate => ({ candidate, letters: distance(name, candidate) }))
    // In a short name, two changed letters make a different name.
    .filter(({ letters }) => letters <= Math.min(2, name.length / 2))
    .toSorted((left, right) => left.letters - right.letters)
  return nearNames[0]?.candidate
}
