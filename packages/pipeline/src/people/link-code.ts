// Formats and reads the code that links two addresses.

/** The 32 characters of codes, five bits each. Characters that people confuse are left out. */
const alphabet = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'
/** The number of characters of a code, which makes 50 bits. */
export const codeLength = 10
const halfLength = codeLength / 2

/** Formats the first ten of some random bytes as a code for people, `XXXXX-XXXXX`. */
export function formatCode(bytes: Uint8Array): string {
  if (bytes.length < codeLength) throw new Error(`a code takes ${codeLength} bytes`)
  const letters = Array.from(bytes.subarray(0, codeLength), byte => alphabet[byte & 31]).join('')
  return `${letters.slice(0, halfLength)}-${letters.slice(halfLength)}`
}

/** Returns a typed code in its canonical form; undefined if the text is not a code. */
export function readCode(text: string): string | undefined {
  const letters = text.toUpperCase().replace(/[\s-]/g, '')
  const isCode = letters.length === codeLength && [...letters].every(letter => alphabet.includes(letter))
  return isCode ? `${letters.slice(0, halfLength)}-${letters.slice(halfLength)}` : undefined
}
