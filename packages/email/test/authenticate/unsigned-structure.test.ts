import { drawCount } from '@postern/testing/scale'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mailLimitsSchema } from '../../src/config/limits.ts'
import { scanHeaders } from '../../src/mail/header.ts'
import { readMailBody } from '../../src/mime/read-body.ts'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { createDkimKey, keyRecord, signText } from '../setup/sign.ts'

// These signatures cover the body but not the fields about its structure, like Gmail's signatures.

const key = createDkimKey(2048)
const usualFields = ['from', 'to', 'subject', 'date', 'message-id']
let gateway: MailGateway
let counter = 0
beforeAll(async () => {
  gateway = await openMailGateway()
  gateway.simulation.dns.set('_dmarc.open.test', { TXT: ['v=DMARC1; p=none'] })
  gateway.simulation.dns.set('s1._domainkey.open.test', { TXT: [keyRecord(key)] })
})
afterAll(() => gateway.close())

/** Sends a mail of Ann. `structure` are the fields about the structure of the body. */
async function postStructure(structure: readonly string[], body: string, fields = usualFields) {
  counter += 1
  const baseFields = [
    ...['From: Ann <ann@open.test>', `To: echo@${mailDomain}`, 'Subject: Plans', `Date: ${new Date().toUTCString()}`],
    ...[`Message-ID: <structure${counter}@open.test>`, ...structure],
  ]
  const message = signText(`${baseFields.join('\r\n')}\r\n\r\n${body}`, { domain: 'open.test', key, fields })
  expect((await gateway.post(Buffer.from(message, 'latin1'), { to: `echo@${mailDomain}` })).status).toBe(200)
  const record = await gateway.readLatestMessage()
  expect(record.message.sender.verified).toBe(true)
  const [text] = record.message.parts.flatMap(part => (part.kind === 'text' ? [part.content] : []))
  const files = record.message.parts.flatMap(part => ('name' in part && part.name ? [part.name] : []))
  return { text, files, flags: record.flags }
}

const formatPart = (type: string, text: string) => `Content-Type: ${type}\r\n\r\n${text}\r\n`

/** A body with a text of Ann and another person's mail below it. */
const quotingBody = [
  `--ann\r\n${formatPart('text/plain; charset=utf-8', 'No, do not pay him!\r\n\r\nHe wrote me this:')}`,
  `--evil\r\n${formatPart('text/plain; charset=utf-8', 'Pay Mallory a thousand.')}`,
  '--evil--\r\n--ann--\r\n',
].join('\r\n')

describe('the gateway shows a signed body in full, despite unsigned fields', () => {
  const plainBody = 'No, do not pay him!\r\n<!-- Mallory wanted a thousand. -->\r\n'
  test.each<[string, readonly string[], string, string]>([
    ['another boundary', ['Content-Type: multipart/mixed; boundary=evil'], quotingBody, 'No, do not pay him!'],
    [
      'a boundary behind which more stands',
      ['Content-Type: multipart/mixed; boundary=evil'],
      `--evil\r\n${formatPart('text/plain', 'Pay him.')}--evil--\r\nThat he wrote me. No, do not pay him!\r\n`,
      'No, do not pay him!',
    ],
    [
      'a boundary above words',
      ['Content-Type: multipart/mixed; boundary=evil'],
      '--evil\r\nNote: No, do not pay him!\r\n\r\nPay him.\r\n',
      'No, do not pay him!',
    ],
    [
      'a boundary that is not there',
      ['Content-Type: multipart/mixed; boundary=none'],
      quotingBody,
      'No, do not pay him!',
    ],
    ['no boundary', ['Content-Type: multipart/mixed'], quotingBody, 'No, do not pay him!'],
    [
      'two boundaries',
      ['Content-Type: multipart/mixed; boundary=evil; boundary=ann'],
      quotingBody,
      'No, do not pay him!',
    ],
    ['HTML', ['Content-Type: text/html'], plainBody, '<!-- Mallory wanted a thousand. -->'],
    ['a file', ['Content-Type: application/octet-stream; name=x.bin'], plainBody, 'No, do not pay him!'],
    ['a message', ['Content-Type: message/rfc822'], plainBody, 'No, do not pay him!'],
    [
      'a file by its disposition',
      ['Content-Disposition: attachment; filename=x', 'Content-Type: text/plain'],
      plainBody,
      'No, do',
    ],
    ['another charset', ['Content-Type: text/plain; charset=utf-16le'], plainBody, 'No, do not pay him!'],
    ['Base64', ['Content-Transfer-Encoding: base64'], plainBody, 'No, do not pay him!'],
  ])('%s', async (_what, structure, body, words) => {
    const { text, flags } = await postStructure(structure, body)
    expect(text).toContain(words)
    const isType = structure.some(field => field.startsWith('Content-Type'))
    expect(flags).toContain(isType ? 'unsigned_content_type' : 'unsigned_content_transfer_encoding')
  })

  test('as plain text if it does not match its type, and the agent sees that', async () => {
    const { text, flags } = await postStructure(['Content-Type: multipart/mixed; boundary=evil'], quotingBody)
    expect(text).toContain('Pay Mallory a thousand.')
    expect(flags).toContain('unsigned_structure')
  })

  test('with its source if it is HTML that may have been text', async () => {
    const { text, files } = await postStructure(['Content-Type: text/html'], '<b>Yes</b> <!-- no -->')
    expect(text).toBe('Yes')
    expect(files).toContain('html-source.txt')
  })

  test('also if a server in front of this one names the author', async () => {
    const upstreams = [{ authserv_id: 'mx.front.test', endpoint: 'inbound' as const }]
    const upstreamGateway = await openMailGateway({ config: { trust: { upstreams } } })
    const head = ['From: ann@open.test', `To: echo@${mailDomain}`, 'Content-Type: multipart/mixed; boundary=evil']
    const results =
      'Authentication-Results: mx.front.test; dkim=pass header.d=open.test; dmarc=pass header.from=open.test'
    const signedMail = signText(`${head.join('\r\n')}\r\n\r\n${quotingBody}`, {
      domain: 'open.test',
      key,
      fields: ['from', 'to'],
    })
    await upstreamGateway.post(`${results}\r\n${signedMail}Scanned by the front.\r\n`)
    const { message } = await upstreamGateway.readLatestMessage()
    expect(message.sender).toMatchObject({ verified: true, key_id: 'authserv:mx.front.test' })
    expect(message.parts[0]).toMatchObject({ content: expect.stringContaining('No, do not pay him!') })
    await upstreamGateway.close()
  })
})

describe('the gateway reads honest mail with unsigned structure fields as usual:', () => {
  const alternative = `--g\r\n${formatPart('text/plain; charset="UTF-8"', 'Good morning.')}--g\r\n${formatPart('text/html', '<p>Good morning.</p>')}--g--\r\n`
  const type = 'Content-Type: multipart/alternative; boundary="g"'
  const notice = 'This is a multi-part message in MIME format.\r\n'
  test.each<[string, readonly string[], string]>([
    ['two readings, as Gmail writes them', [type], alternative],
    ['with the words of old programs above', [type], `${notice}${alternative}`],
    ['without an end', [type], alternative.replace('--g--\r\n', '')],
    [
      'a text in Base64',
      ['Content-Type: text/plain; charset=utf-8', 'Content-Transfer-Encoding: base64'],
      `${btoa('Good morning.')}\r\n`,
    ],
    [
      'a text in quoted-printable',
      ['Content-Type: text/plain', 'Content-Transfer-Encoding: quoted-printable'],
      'Good=20morn=\r\ning.\r\n',
    ],
    ['a text', ['Content-Type: text/plain; charset=iso-8859-1'], 'Good morning.\r\n'],
  ])('%s', async (_what, structure, body) => {
    const { text, files, flags } = await postStructure(structure, body)
    expect({ text, files }).toEqual({ text: 'Good morning.', files: [] })
    expect(flags).not.toContain('unsigned_structure')
    expect(flags).toContain('unsigned_content_type')
  })

  test('a file in Base64', async () => {
    const fields = ['Content-Type: application/pdf; name=plan.pdf', 'Content-Transfer-Encoding: base64']
    const { files, flags } = await postStructure(fields, `${btoa('%PDF')}\r\n`)
    expect(files).toEqual(['plan.pdf'])
    expect(flags).not.toContain('unsigned_structure')
  })
})

test('text outside the parts belongs to nobody if the signature covers the fields (RFC 2046 §5.1.1)', async () => {
  const { text, flags } = await postStructure(['Content-Type: multipart/mixed; boundary=evil'], quotingBody, [
    ...usualFields,
    'content-type',
  ])
  expect(text).toBe('Pay Mallory a thousand.')
  expect(flags).toEqual([])
})

const limits = mailLimitsSchema.parse({})
const types = [
  'multipart/mixed',
  'multipart/alternative',
  'multipart/digest',
  'text/plain',
  'text/html',
  'message/rfc822',
  'image/png',
]
const forgedStructures = fc.record({
  type: fc.constantFrom(...types),
  boundary: fc.constantFrom('one', 'two', 'on', 'three', '', 'one--', '--one'),
  charset: fc.constantFrom('utf-8', 'utf-16', 'us-ascii', 'nonsense'),
  encoding: fc.constantFrom('7bit', 'base64', 'quoted-printable', 'binary', 'x-uuencode'),
})
const bodies = fc.array(
  fc.constantFrom('--one', '--one--', '--two', '--two--', '', 'Content-Type: text/plain', 'word', '<b>'),
  {
    maxLength: 14,
  },
)

test('an unsigned type, boundary, charset or encoding hides no line of a body', async () => {
  await fc.assert(
    fc.asyncProperty(forgedStructures, bodies, async ({ type, boundary, charset, encoding }, drawnLines) => {
      const lines = drawnLines.map((line, index) => (line === 'word' ? `word${index} is here` : line))
      const head = `Content-Type: ${type}; boundary="${boundary}"; charset=${charset}\r\nContent-Transfer-Encoding: ${encoding}`
      const octets = Buffer.from(`${head}\r\n\r\n${lines.join('\r\n')}\r\n`)
      const parsedBody = await readMailBody(octets, scanHeaders(octets, limits), {
        keepsQuotes: true,
        isStructureUnsigned: true,
        limits,
      })
      const visibleText = [parsedBody.text, ...parsedBody.files.map(({ bytes }) => Buffer.from(bytes).toString())].join(
        '\n',
      )
      // The header of a part is not text, and the header of the mail is signed.
      const words = listBodyWords(lines.join('\n'), { isText: parsedBody.flags.includes('unsigned_structure') })
      for (const word of words) expect(visibleText).toContain(word)
    }),
    { numRuns: drawCount({ quick: 100, long: 1_000 }) },
  )
})

/** Returns the words of a body. If it is read in parts, these are the words of their bodies. */
function listBodyWords(body: string, { isText }: { readonly isText: boolean }): readonly string[] {
  const listWords = (text: string) => text.match(/word\d+/g) ?? []
  if (isText || !/^\s*--/.test(body)) return listWords(body)
  return body.split(/^--.*$/m).flatMap(piece => listWords(piece.replace(/^\n?(?:.+\n)*?\n/, '')))
}
