// Defines the bench cases for incoming mail: a small letter, and one of 1 MB.
import { randomBytes } from 'node:crypto'
import { devBudgets } from '@postern/email'
import type { MailPlan, SimMail } from '@postern/simulation'
import { openSimulation } from '@postern/simulation'
import type { Aim } from '../aims/rows.ts'
import { rows } from '../aims/rows.ts'
import type { BenchCase, Contender } from '../harness/rounds.ts'
import { formatRequest } from '../http/message.ts'
import { describeBenchGateway, gatewayHost } from '../ours/open.ts'

export const benchIntakeSecret = 'bench-intake-secret'
const recipient = `silent@${gatewayHost}`
/** The authors of the letters, who publish DKIM, SPF and DMARC in the simulation's DNS. */
const authors = ['Alice <alice@alice.test>', 'Quentin <quentin@quarantine.test>']

/**
 * Opens the case of mail intake by HTTP: a 5 KB multipart letter, DKIM-signed (RSA-2048), judged by DKIM, SPF and DMARC, parsed, stored.
 */
export function openMailCase(): Promise<BenchCase> {
  return openLetterCase({ name: 'mail', title: 'Mail intake', connections: 16 }, rows.mail)
}

/** Opens the case of the same letter with a file: 1 MB. */
export function openLargeMailCase(): Promise<BenchCase> {
  const file = { filename: 'timetable.pdf', contentType: 'application/pdf', content: randomBytes(700_000) }
  return openLetterCase(
    { name: 'maillarge', title: 'Mail of 1 MB', connections: 4, maxWarmUp: 400 },
    { aim: rows.mail.aim },
    file,
  )
}

async function openLetterCase(letter: About, aim: Partial<Aim>, file?: MailAttachment): Promise<BenchCase> {
  const simulation = await openSimulation()
  const runId = process.pid.toString(36)
  let serial = 0
  return {
    ...letter,
    contenders: listContenders(simulation.network.dns, aim),
    async prepare(count) {
      const requests: Uint8Array[] = []
      for (let index = 0; index < count; index++)
        requests.push(await composeRequest(simulation.mail, `${runId}-${serial++}`, file))
      return requests
    },
    isExpected: ({ status }) => status === 200 || status === 202,
    close: simulation.close,
  }
}

type About = Pick<BenchCase, 'name' | 'title' | 'connections' | 'maxWarmUp'>
type MailAttachment = NonNullable<MailPlan['attachments']>[number]

async function composeRequest(mail: SimMail, id: string, file?: MailAttachment): Promise<Uint8Array> {
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
  return formatIntake(octets, { from: envelope.from, to: recipient, ip, helo })
}

type IntakeQuery = ConstructorParameters<typeof URLSearchParams>[0]

/** Formats a mail with its envelope, as a mail server in front of the gateway posts it. */
export function formatIntake(octets: Uint8Array, envelope: IntakeQuery): Uint8Array {
  const headers = { host: gatewayHost, 'content-type': 'message/rfc822', authorization: `Bearer ${benchIntakeSecret}` }
  return formatRequest(`/email/inbound?${new URLSearchParams(envelope)}`, headers, octets)
}

function listContenders(dns: readonly string[], aim: Partial<Aim>): readonly Contender[] {
  const config = { email: { intake: { secret: benchIntakeSecret }, budgets: devBudgets }, network: { dns } }
  return [
    {
      name: 'Postern, to the stored message',
      note: 'DKIM, SPF, DMARC and ARC judged; MIME parsed in a worker; durable on disk with its turn, which nobody takes up',
      ...describeBenchGateway(config, { counts: 'messages' }),
    },
    {
      name: 'Postern, and its turn',
      note: 'and a turn of a silent agent taken up and committed, which nobody else here does (information)',
      ...describeBenchGateway(config),
    },
    {
      name: 'mailauth + mailparser',
      note: 'on bare Hono: authenticate() with cached DNS answers, simpleParser(), one SQLite insert; one durable commit for all that arrive together',
      entry: new URL('./libraries.ts', import.meta.url),
      setup: { dns },
      ...aim,
    },
  ]
}

const paragraphs = [
  'could you look up when the last train back from the coast leaves on Sunday, whether it takes bicycles, and what it costs for two people with a rail card?',
  'We would like to stay for the fireworks, which should end at about half past ten, and the walk from the pier to the station takes us a quarter of an hour when it does not rain.',
  'If there is no train that late, please tell us what the night bus does: where it stops, whether one has to book a seat, and whether it takes folding bicycles in the hold.',
  'Last year the platform was changed at the last minute and nobody had told us; if there is a page that shows such changes, we should be glad to have its address.',
  'There is no hurry: an answer by Friday evening is early enough, because that is when we pack. Thank you very much, and do enjoy the long week-end yourself!',
]

/** Writes the letter as plain text; `id` makes it unique. */
export function letterText(id: string): string {
  return ['Dear agent,', ...paragraphs, `With kind regards,\nAlice (${id})`].join('\n\n')
}

/** Writes the same letter as the HTML of a mail program. */
export function html(id: string): string {
  const style = 'margin:0 0 1em 0;font-family:Helvetica,Arial,sans-serif;font-size:14px;line-height:1.5;color:#222222'
  const body = ['Dear agent,', ...paragraphs, `With kind regards,<br>Alice (${id})`]
  return `<!DOCTYPE html><html><head><meta charset="utf-8"><title>Letter</title></head><body>${body
    .map(paragraph => `<p style="${style}">${paragraph}</p>`)
    .join('\r\n')}</body></html>`
}
