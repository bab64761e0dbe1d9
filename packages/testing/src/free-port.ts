// Finds a free loopback port that no other test process uses in the meantime.
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import type { Server } from 'node:net'
import { createServer } from 'node:net'

/**
 * The range of the ports. It is below the ports that Linux gives to clients and to `listen(0)` (32768 and up), so a restarted server finds
 * its port free, whatever connections other tests open. It is above the last port that `fetch()` refuses to call (10080).
 */
const [firstPort, endPort] = [10_081, 32_768]
const blockPorts = 128
const blockCount = Math.floor((endPort - firstPort) / blockPorts)

/**
 * The remaining ports of this process's block. No other process uses that block while this one listens at its first port. The process stores them
 * globally, since vitest loads this module anew for each file.
 */
const globalPorts: typeof globalThis & { freePorts?: number[] } = globalThis

/** Finds a free port of 127.0.0.1. The port stays free until somebody listens there, because no other call returns it in any process of the tests. */
export async function findFreePort(): Promise<number> {
  const port = globalPorts.freePorts?.pop()
  if (port === undefined) {
    globalPorts.freePorts = await claimBlock()
    return findFreePort()
  }
  const server = await listen(port)
  if (!server) return findFreePort()
  server.close()
  await once(server, 'close')
  return port
}

/** Claims a random block of ports by listening at its first port, and returns the other ports of the block. */
async function claimBlock(): Promise<number[]> {
  const blockStart = firstPort + randomInt(blockCount) * blockPorts
  const claim = await listen(blockStart)
  if (!claim) return claimBlock()
  claim.unref()
  return Array.from({ length: blockPorts - 1 }, (_, index) => blockStart + 1 + index)
}

/** Listens on a port. Returns undefined if another server does already. */
async function listen(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
    return server
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return undefined
    throw error
  }
}
