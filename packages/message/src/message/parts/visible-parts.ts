// Removes invisible characters and unsafe file names from the parts that peers write.
import { readVisibleText, readVisibleValue } from '../../format/text/visible-text.ts'
import type { Part } from '../part.ts'
import { withSafeFileNames } from './file-name.ts'

/** The members of a part that identify something, and that nobody reads as text. */
const partAddresses: ReadonlySet<string> = new Set(['kind', 'id', 'mime', 'url', 'bytes_ref'])

/** Returns parts without invisible characters and with safe file names. `isSame` is true if nothing has changed, not even a line end. */
export function readVisibleParts(parts: readonly Part[]) {
  let removed = 0
  const visibleParts = parts.map(part => {
    const { value, removed: count } = readVisiblePart(part)
    removed += count
    return value
  })
  const value = withSafeFileNames(visibleParts)
  return { value, removed, isSame: value.every((part, index) => part === parts[index]) }
}

function readVisiblePart(part: Part): { readonly value: Part; readonly removed: number } {
  if (part.kind === 'text') {
    const { text, removedCount: removed } = readVisibleText(part.content)
    return { value: text === part.content ? part : { ...part, content: text }, removed }
  }
  const { value, removed } = readVisibleValue(part, { except: partAddresses })
  return { value, removed }
}
