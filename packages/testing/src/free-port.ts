import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below the ports that Linux gives to clients and to `listen(0)` (32768 and up): a server that is away, as one that restarts, finds
 * its port free when it comes back, however many connections other tests open in the meantime.
 * Above the last port that `fetch()` refuses to call (10080).
 */
const [first, end] = [10_081, 32_768]

/** A port of 127.0.0.1 that is free, and stays so while nobody listens there. */
export async function findFreePort(): Promise<number> {
  const port = randomInt(first, end)
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return findFreePort()
    throw error
  }
  server.close()
  await once(server, 'close')
  return port
}
