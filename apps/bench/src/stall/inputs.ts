import { agents } from '../orders/stall.ts'
import { gatewayHost } from '../ours/describe.ts'

/** A mail that is meant to hold up whoever reads it. */
export interface HostileInput {
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

function repeat(name: string, piece: string, fields: readonly string[] = []): HostileInput {
  const body = piece.repeat(Math.ceil(million / piece.length))
  return { name, to: [first], write: serial => writeMail(serial, fields, `${serial}\r\n${body}`) }
}

const html = ['Content-Type: text/html']
const manyParts = '--b\r\n\r\nx\r\n'.repeat(100_000)
const prose = 'The last train back from the coast leaves at 21:40. '.repeat(20_000)
const signature = (at: number) =>
  `DKIM-Signature: v=1; a=rsa-sha256; d=nodmarc.test; s=s${at}; l=${at}; h=From; bh=AAAA; b=AAAA`

/** What the inputs of issue reports are made of (EM-1.6, EM-1.7, EM-56). */
export const hostileInputs: readonly HostileInput[] = [
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
        Array.from({ length: 100 }, (_, at) => signature(at)),
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
