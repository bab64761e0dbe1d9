const primes = [0x01000193, 0x85ebca6b] as const

/** A short mark that distinguishes texts: the same for the same text. It proves nothing. */
export function markText(text: string): string {
  return primes.map((prime, seed) => foldText(text, prime, seed).toString(16).padStart(8, '0')).join('')
}

/** FNV-1a over UTF-16 code units, 32 bits. */
function foldText(text: string, prime: number, seed: number): number {
  let folded = (0x811c9dc5 ^ seed) >>> 0
  for (let index = 0; index < text.length; index += 1) {
    folded = Math.imul(folded ^ text.charCodeAt(index), prime) >>> 0
  }
  return folded
}
