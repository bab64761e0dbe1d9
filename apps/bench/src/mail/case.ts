import { randomBytes } from 'node:crypto'
import { endlessBudgets } from '@postern/email'
import type { MailPlan, SimMail } from '@postern/simulation'
import { openSimulation } from '@postern/simulation'
import type { BenchCase, Contender } from '../harness/case.ts'
import { formatRequest } from '../http/message.ts'
import { describeBenchGateway, gatewayHost } from '../ours/describe.ts'
import { html, letterText } from './letter.ts'

const secret = 'bench-intake-secret'
const recipient = `silent@${gatewayHost}`
/** Both publish DKIM, SPF and DMARC in the simulation's DNS. */
const authors = ['Alice <alice@alice.test>', 'Quentin <quentin@quarantine.test>']

/** Mail intake by HTTP: a 5 KB multipart letter, DKIM-signed (RSA-2048), judged by DKIM, SPF and DMARC, parsed, stored. */
export function openMailCase(): Promise<BenchCase> {
  return openLetterCase({ name: 'mail', title: 'Mail intake', connections: 16 })
}

/** The same letter with a file: 1 MB. */
export function openLargeMailCase(): Promise<BenchCase> {
  const file = { filename: 'timetable.pdf', contentType: 'application/pdf', content: randomBytes(700_000) }
  return openLetterCase({ name: 'maillarge', title: 'Mail of 1 MB', connections: 4, warmUp: 100 }, file)
}

async function openLetterCase(about: About, file?: Attached): Promise<BenchCase> {
  const simulation = await openSimulation()
  const run = process.pid.toString(36)
  let serial = 0
  return {
    ...about,
    contenders: listContenders(simulation.network.dns),
    async prepare(count) {
      const requests: Uint8Array[] = []
      for (let made = 0; made < count; made++)
        requests.push(await composeRequest(simulation.mail, `${run}-${serial++}`, file))
      return requests
    },
    isAccepted: ({ status }) => status === 200 || status === 202,
    close: () => simulation.close(),
  }
}

type About = Pick<BenchCase, 'name' | 'title' | 'connections' | 'warmUp'>
type Attached = NonNullable<MailPlan['attachments']>[number]

async function composeRequest(mail: SimMail, id: string, file?: Attached): Promise<Uint8Array> {
  const from = authors[id.charCodeAt(id.length - 1) % authors.length]
  const subject = `Last train back from the coast (${id})`
  const { octets, envelope, ip, helo } = await mail.compose({
    from,
    to: recipient,
    subject,
    text: letterText(id),
    html: html(id),
    ...(file && { attachments: [file] }),
  })
  const query = new URLSearchParams({ from: envelope.from, to: recipient, ip, helo })
  const headers = { host: gatewayHost, 'content-type': 'message/rfc822', authorization: `Bearer ${secret}` }
  return formatRequest(`/email/inbound?${query}`, headers, octets)
}

function listContenders(dns: readonly string[]): readonly Contender[] {
  const tree = { email: { intake: { secret }, budgets: endlessBudgets }, network: { dns } }
  return [
    {
      name: 'Postern, to the stored message',
      note: 'DKIM, SPF, DMARC and ARC judged; MIME parsed in a worker; durable on disk with its turn, which nobody takes up',
      ...describeBenchGateway(tree, { counts: 'messages' }),
    },
    {
      name: 'Postern, and its turn',
      note: 'and a turn of a silent agent taken up and committed, which nobody else here does (information)',
      ...describeBenchGateway(tree),
    },
    {
      name: 'mailauth + mailparser',
      note: 'on bare Hono: authenticate() with cached DNS answers, simpleParser(), one SQLite insert; one durable commit for all that arrive together',
      entry: new URL('./libraries.ts', import.meta.url),
      setup: { dns },
      aim: 1,
    },
  ]
}
