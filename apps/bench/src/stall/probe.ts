import { openSimulation } from '@postern/simulation'
import type { Figure, ProbeOptions } from '../harness/figure.ts'
import { openConnection } from '../http/connection.ts'
import { formatRequest } from '../http/message.ts'
import { stallIntakeSecret } from '../orders/stall.ts'
import { gatewayHost } from '../ours/describe.ts'
import type { ServerProcess } from '../servers/process.ts'
import { startServer } from '../servers/process.ts'
import type { HostileInput } from './inputs.ts'
import { hostileInputs } from './inputs.ts'

/** ms */
const bar = 50
/** Long enough that what is put off until after the answer is seen too, ms. */
const aftermath = 300

/** For how long one mail that is meant to do so holds up everything else. */
export async function probeStall({ rounds, progress }: ProbeOptions): Promise<readonly Figure[]> {
  const entry = new URL('./ours.ts', import.meta.url)
  const simulation = await openSimulation()
  const setup = { dns: simulation.network.dns }
  const server = await startServer({ entry, setup, core: undefined, nodeFlags: ['--max-semi-space-size=8'] })
  const stalls = new Map<HostileInput, number[]>(hostileInputs.map(input => [input, []]))
  try {
    for (let round = 0; round <= rounds; round++) {
      progress(`stall: ${round === 0 ? 'warming up' : `round ${round} of ${rounds}`}`)
      for (const [input, found] of stalls) {
        const stall = await measureStall(server, input, `${process.pid}-${round}-${hostileInputs.indexOf(input)}`)
        if (round > 0) found.push(stall)
      }
    }
  } finally {
    await server.stop()
    await simulation.close()
  }
  return [...stalls].map(([{ name }, found]) => toFigure(name, found))
}

async function measureStall(server: ServerProcess, { name, to, write }: HostileInput, serial: string): Promise<number> {
  const query = new URLSearchParams([
    ['from', 'bob@nodmarc.test'],
    ...to.map(name => ['to', `${name}@${gatewayHost}`] as [string, string]),
  ])
  const headers = { host: gatewayHost, 'content-type': 'message/rfc822', authorization: `Bearer ${stallIntakeSecret}` }
  const connection = await openConnection(server.port)
  try {
    await server.work({ kind: 'start' })
    const { status, body } = await connection.exchange(formatRequest(`/email/inbound?${query}`, headers, write(serial)))
    if (status !== 200 && status !== 400) throw new Error(`"${name}" was answered with ${status}: ${body}`)
    await new Promise(resolve => setTimeout(resolve, aftermath))
    return (await server.work({ kind: 'end' })) as number
  } finally {
    connection.close()
  }
}

function toFigure(name: string, found: readonly number[]): Figure {
  // What holds it up does so in each round; whatever else the machine does, in some.
  const value = Math.min(...found)
  return {
    case: 'Stall by a mail',
    name,
    note: `the longest time in which nothing else could happen, in the calmest round; in the worst ${Math.max(...found).toFixed(1)} ms`,
    value,
    unit: 'ms',
    ratio: value / bar,
    against: `÷ ${bar} ms`,
    aim: { atMost: 1 },
  }
}
