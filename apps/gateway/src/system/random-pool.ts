// Fetches random bytes from the operating system in large pieces, because ids ask for a few bytes at a time.
import { randomBytes } from 'node:crypto'

const poolBytes = 4_096

/** Larger requests bypass the pool. */
const maxPooledBytes = 64

/**
 * Returns a source of random bytes. An id needs only a few bytes, and a system call costs more than they do. The pool wipes bytes that it has
 * handed out.
 */
export function createRandomPool(fill: (count: number) => Uint8Array = randomBytes): (count: number) => Uint8Array {
  let pool: Uint8Array = new Uint8Array()
  let at = 0
  return count => {
    if (count > maxPooledBytes) return fill(count)
    if (at + count > pool.length) {
      pool = fill(poolBytes)
      at = 0
    }
    // `Uint8Array` copies the bytes; `slice` of a Buffer would share them.
    const taken = new Uint8Array(pool.subarray(at, at + count))
    pool.fill(0, at, at + count)
    at += count
    return taken
  }
}
