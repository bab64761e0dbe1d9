// Runs a small server with one planted fault, which the first argument names and a fuzz run must find.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TargetAddresses } from './open.ts'

/** Returns the processor time of this process, µs, in user and system mode. */
const usedMicroseconds = () => {
  const { user, system } = process.cpuUsage()
  return user + system
}

const faults: Readonly<Record<string, () => number>> = {
  none: () => 200,
  error: () => 500,
  stall() {
    // The loop measures processor time, so that a busy machine does not shorten it.
    const startedAt = usedMicroseconds()
    while (usedMicroseconds() - startedAt < 4_000_000);
    return 200
  },
  exit: () => process.exit(3),
  stray() {
    setImmediate(() => process.stdout.write(`${JSON.stringify({ level: 50, msg: 'a promise was rejected' })}\n`))
    return 200
  },
}

const fault = faults[process.argv[2] ?? ''] ?? (() => 200)
let isStruck = false

const server = createServer((request, response) => {
  request.resume()
  const isHit = request.url?.startsWith('/faulty') && !isStruck
  if (isHit) isStruck = true
  response.statusCode = isHit ? fault() : 200
  response.end('{}')
}).listen(0, '127.0.0.1', () => {
  const addresses: TargetAddresses = {
    http: (server.address() as AddressInfo).port,
    routes: [{ method: 'POST', path: '/faulty' }],
  }
  process.send?.(addresses)
})
