// Creates odd SMTP and LMTP sessions.
import { mutateBytes } from '../mutate/bytes.ts'
import type { Random } from '../values/random.ts'
import type { MailCase } from './case.ts'
import type { MailEndpoint } from './endpoints.ts'

const commands: readonly string[] = [
  'RSET',
  'NOOP x',
  'VRFY echo',
  'HELP',
  'EXPN all',
  'STARTTLS',
  'AUTH PLAIN AGEAYg==',
  'AUTH LOGIN',
  'BDAT 5 LAST\r\nhello',
  'XFORWARD NAME=a ADDR=1.2.3.4 PROTO=SMTP',
  'XCLIENT ADDR=1.2.3.4',
  'PROXY TCP4 1.2.3.4 5.6.7.8 1 2',
  'MAIL FROM:<>',
  'MAIL FROM:<alice@mail.test> SIZE=99999999999999999999 BODY=8BITMIME SMTPUTF8',
  'RCPT TO:<"a b"@agents.test>',
  'RCPT TO:<@a,@b:echo@agents.test> NOTIFY=NEVER',
  'RCPT TO:<echo+%00@agents.test>',
  'GET / HTTP/1.1',
  '',
]

/** Creates an SMTP or LMTP session with one mail, which is sent at once. */
export function makeMailCase({ greeting }: MailEndpoint, random: Random, mails: readonly Buffer[]): MailCase {
  const mail = random.pick(mails)
  const body = random.chance(0.9) ? mutateBytes(mail, random) : mail
  const extra = () => (random.chance(0.1) ? [random.pick(commands)] : [])
  const agent = random.pick(['echo', 'echo', 'help', 'chat'])
  const lines = [
    ...extra(),
    random.chance(0.95) ? `${greeting} mx.mail.test` : random.pick(['HELO [127.0.0.1]', 'LHLO x', 'EHLO']),
    ...extra(),
    'MAIL FROM:<alice@mail.test>',
    ...extra(),
    `RCPT TO:<${agent}@agents.test>`,
    ...extra(),
    'DATA',
    '',
  ]
  const bytes = Buffer.concat([Buffer.from(lines.join('\r\n')), escapeDots(body), Buffer.from('\r\n.\r\nQUIT\r\n')])
  return { kind: 'mail', endpoint: 'SMTP', body: random.chance(0.15) ? mutateBytes(bytes, random) : bytes }
}

/** Doubles a dot at the beginning of a line (RFC 5321 §4.5.2). */
function escapeDots(mail: Buffer): Buffer {
  return Buffer.from(mail.toString('latin1').replace(/^\./gm, '..'), 'latin1')
}
