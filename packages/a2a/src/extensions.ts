import { A2aRejection } from './errors.ts'

/** An extension of the card (A2A §4.4.4). */
export interface Extension {
  readonly uri: string
  readonly required?: boolean | undefined
}

/** What we understand. None so far: a caller's extensions are all unknown, hence ignored. */
export const supportedExtensions: readonly Extension[] = []

const maxHeader = 8 * 1024
const maxNamed = 64

/**
 * Which of our extensions the caller switched on; the answer echoes these. Unknown ones are ignored, and so is what
 * lies beyond the bounds (A2A §4.6).
 * @throws A2aRejection `extensionSupportRequired`
 */
export function negotiateExtensions(
  header: string | null,
  supported: readonly Extension[] = supportedExtensions,
): readonly string[] {
  if (supported.length === 0) return []
  const named = new Set(
    (header ?? '')
      .slice(0, maxHeader)
      .split(',', maxNamed)
      .map(uri => uri.trim()),
  )
  const missing = supported.find(({ uri, required }) => required && !named.has(uri))
  if (missing) {
    throw new A2aRejection('extensionSupportRequired', `Cannot take request: extension "${missing.uri}" is required`)
  }
  return supported.map(({ uri }) => uri).filter(uri => named.has(uri))
}
