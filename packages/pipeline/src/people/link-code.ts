// Formats and reads the code that links two addresses.

/** No letters or digits that are taken for each other; five bits each. */
const alphabet = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'
/** 50 bits. */
export const codeLength = 10
const half = codeLength / 2

/** A code as people read it, `XXXXX-XXXXX`, of ten random bytes. */
export function formatCode(bytes: Uint8Array): string {
  if (bytes.length < codeLength) throw new Error(`a code takes ${codeLength} bytes`)
  const letters = Array.from(bytes.subarray(0, codeLength), byte => alphabet[byte & 31]).join('')
  return `${letters.slice(0, half)}-${letters.slice(half)}`
}

/** A code in its one form, however it was typed; undefined for what is none. */
export function readCode(text: string): string | undefined {
  const letters = text.toUpperCase().replace(/[\s-]/g, '')
  const isCode = letters.length === codeLength && [...letters].every(letter => alphabet.includes(letter))
  return isCode ? `${letters.slice(0, half)}-${letters.slice(half)}` : undefined
}
