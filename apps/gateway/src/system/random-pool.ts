// Fetches random bytes from the operating system in large pieces, because ids ask for a few bytes at a time.
import { randomBytes } from 'node:crypto'

const poolBytes = 4_096

/** The largest request that the pool serves; larger ones bypass it. */
const maxPooledBytes = 64

/**
 * Returns a source of random bytes. A system call costs more than the few bytes that an id needs. The pool wipes the bytes that it has
 * handed out.
 */
export function createRandomPool(fill: (count: number) => Uint8Array = randomBytes): (count: number) => Uint8Array {
  let pool: Uint8Array = new Uint8Array()
  let position = 0
  return count => {
    if (count > maxPooledBytes) return fill(count)
    if (position + count > pool.length) {
      pool = fill(poolBytes)
      position = 0
    }
    // The `Uint8Array` copies the bytes, while `slice` of a Buffer would share them.
    const bytes = new Uint8Array(pool.subarray(position, position + count))
    pool.fill(0, position, position + count)
    position += count
    return bytes
  }
}
