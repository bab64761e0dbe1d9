const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
const values: ReadonlyMap<string, number> = new Map([...alphabet].map((digit, value) => [digit, value]))

/** Keys and signatures are short, and the arithmetic takes the square of the length. */
const maxBytes = 128

/** Bytes as base58btc, leading zero bytes as `1`. */
export function encodeBase58(bytes: Uint8Array): string {
  let rest = BigInt(`0x0${Buffer.from(bytes).toString('hex')}`)
  let digits = ''
  for (; rest > 0n; rest /= 58n) digits = alphabet[Number(rest % 58n)] + digits
  return '1'.repeat(countLeading(bytes, 0)) + digits
}

/** The bytes of a base58btc text, or undefined when it is none or too long. */
export function decodeBase58(text: string): Uint8Array | undefined {
  if (text.length > maxBytes * 1.4) return undefined
  let number = 0n
  for (const digit of text) {
    const value = values.get(digit)
    if (value === undefined) return undefined
    number = number * 58n + BigInt(value)
  }
  const hex = number === 0n ? '' : number.toString(16)
  const zeros = Buffer.alloc(countLeading(text, '1'))
  return Buffer.concat([zeros, Buffer.from(hex.padStart(hex.length + (hex.length % 2), '0'), 'hex')])
}

function countLeading<Item>(items: ArrayLike<Item>, wanted: Item): number {
  let count = 0
  while (count < items.length && items[count] === wanted) count += 1
  return count
}
