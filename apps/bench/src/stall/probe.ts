// Measures how long one hostile mail blocks the event loop of the gateway.
import { openSimulation } from '@postern/simulation'
import { nodeFlags } from 'postern/launch'
import { measureInterleaved } from '../harness/interleave.ts'
import type { Figure, ProbeOptions } from '../harness/tables/figure.ts'
import { openConnection } from '../http/connection.ts'
import { formatIntake } from '../mail/case.ts'
import { agents } from '../orders/stall.ts'
import { gatewayHost } from '../ours/open.ts'
import type { ServerProcess } from '../servers/process.ts'
import { startServer } from '../servers/process.ts'

/** The longest time that a mail may block the event loop, ms. */
const boundMs = 50
/** The time of measuring after the answer, ms, long enough to include postponed work. */
const afterwardsMs = 300

/** Measures how long one hostile mail blocks all other work. */
export async function probeStall({ rounds, progress }: ProbeOptions): Promise<readonly Figure[]> {
  const entry = new URL('./ours.ts', import.meta.url)
  await using resources = new AsyncDisposableStack()
  const simulation = await openSimulation()
  resources.defer(simulation.close)
  const setup = { dns: simulation.network.dns }
  const server = resources.use(await startServer({ entry, setup, core: undefined, nodeFlags }))
  const stalls = await measureInterleaved(hostileInputs, { title: 'stall', rounds, progress }, (input, round) =>
    measureStall(server, input, `${process.pid}-${round}-${hostileInputs.indexOf(input)}`),
  )
  return hostileInputs.map(({ name }, index) => toFigure(name, stalls[index] ?? []))
}

async function measureStall(
  server: ServerProcess,
  { name, to, write: writeInput }: HostileInput,
  serial: string,
): Promise<number> {
  const recipients = to.map(name => ['to', `${name}@${gatewayHost}`])
  const request = formatIntake(writeInput(serial), [['from', 'bob@nodmarc.test'], ...recipients])
  const connection = await openConnection(server.port)
  try {
    await server.work({ kind: 'start' })
    const { status, body } = await connection.exchange(request)
    if (status !== 200 && status !== 400) throw new Error(`"${name}" was answered with ${status}: ${body}`)
    await new Promise(resolve => setTimeout(resolve, afterwardsMs))
    return (await server.work({ kind: 'end' })) as number
  } finally {
    connection.close()
  }
}

function toFigure(name: string, delays: readonly number[]): Figure {
  // The mail blocks the gateway in every round, and other work of the machine only in some.
  const value = Math.min(...delays)
  return {
    case: 'Stall by a mail',
    name,
    note: `the longest time in which nothing else could happen, in the calmest round; in the worst ${Math.max(...delays).toFixed(1)} ms`,
    value,
    unit: 'ms',
    ratio: value / boundMs,
    ratioLabel: `÷ ${boundMs} ms`,
    aim: { atMost: 1 },
  }
}

/** A mail that is meant to block its reader. */
interface HostileInput {
  readonly name: string
  readonly to: readonly string[]
  write(serial: string): Buffer
}

const million = 1_000_000
const [first = ''] = agents

function writeMail(serial: string, fields: readonly string[], body: string): Buffer {
  const head = [
    'From: Bob <bob@nodmarc.test>',
    `To: ${first}@${gatewayHost}`,
    `Message-ID: <${serial}@nodmarc.test>`,
    ...fields,
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}\r\n`, 'latin1')
}

function repeat(name: string, segment: string, fields: readonly string[] = []): HostileInput {
  const body = segment.repeat(Math.ceil(million / segment.length))
  return { name, to: [first], write: serial => writeMail(serial, fields, `${serial}\r\n${body}`) }
}

const html = ['Content-Type: text/html']
const manyParts = '--b\r\n\r\nx\r\n'.repeat(100_000)
const prose = 'The last train back from the coast leaves at 21:40. '.repeat(20_000)
const signature = (index: number) =>
  `DKIM-Signature: v=1; a=rsa-sha256; d=nodmarc.test; s=s${index}; l=${index}; h=From; bh=AAAA; b=AAAA`

/** Mails made of the inputs of issue reports (EM-1.6, EM-1.7, EM-56). */
const hostileInputs: readonly HostileInput[] = [
  repeat('1 MB of spaces', ' '),
  repeat('1 MB of line ends', '\r\n'),
  repeat('1 MB of dashes', '-'),
  repeat('1 MB of >', '>'),
  repeat('1 MB of < as HTML', '<', html),
  repeat('100 000 nested elements', '<div>', html),
  repeat('1 MB of style sheets', '<style>.a{display:none}', html),
  {
    name: '100 000 parts',
    to: [first],
    write: serial => writeMail(serial, ['Content-Type: multipart/mixed; boundary=b'], manyParts),
  },
  {
    name: '20 000 blank lines, as a reply',
    to: [first],
    write: serial => writeMail(serial, ['In-Reply-To: <a@nodmarc.test>'], `${serial}${'\r\n'.repeat(20_000)}`),
  },
  {
    name: '100 signatures over 1 MB',
    to: [first],
    write: serial =>
      writeMail(
        serial,
        Array.from({ length: 100 }, (_, index) => signature(index)),
        prose,
      ),
  },
  {
    name: '4 000 recipients in the header',
    to: [first],
    write: serial => writeMail(serial, [`Cc: ${'a@b.invalid, '.repeat(4_000)}`], serial),
  },
  { name: '1 MB of prose to 30 agents', to: agents, write: serial => writeMail(serial, [], `${serial} ${prose}`) },
]
