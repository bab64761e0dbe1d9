import { createHash } from 'node:crypto'
import type { NormalizedMessage, NormalizedResponse, Part } from '@postern/message'
import { Unavailable } from '@postern/message'
import type { Delivery } from '@postern/pipeline'
import type { ReadMail } from '@postern/simulation'
import { readMail } from '@postern/simulation'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'

let gateway: MailGateway
const submittedMails: { envelope: unknown; octets: Buffer }[] = []
let submissionError: Error | undefined

beforeAll(async () => {
  gateway = await openMailGateway({
    async submitMail(envelope, octets) {
      if (submissionError) throw submissionError
      submittedMails.push({ envelope, octets: Buffer.from(octets) })
      return { response: '250 2.0.0' }
    },
  })
})
afterAll(() => gateway.close())

const response: NormalizedResponse = {
  id: '0123456789abcdef0123456789abcdef',
  thread_id: 'root@alice.test',
  in_reply_to: 'm1@alice.test',
  sender: `@echo@${mailDomain}`,
  parts: [{ kind: 'text', mime: 'text/plain', content: 'Hello' }],
  status: 'completed',
  created_at: '2026-11-21T10:00:00.000Z',
}
/** The VERP address, which is different for each delivery. */
const bounceAddress = expect.stringMatching(/^echo\+b\.d1\.[0-9a-f]{20}@agents\.test$/)

const target = {
  mailbox: 'alice@alice.test',
  name: 'Alice',
  subject: 'Lunch',
  message_id: 'm1@alice.test',
  references: ['root@alice.test'],
}

function createDelivery(changes: Partial<NormalizedResponse> = {}, mailTarget: object = target): Delivery {
  const changedResponse = { ...response, ...changes }
  const fixedFields = {
    id: 'd1',
    token: 1,
    attempt: 1,
    queuedAt: 0,
    via: 'email',
    agent: 'echo',
    to: 'alice@alice.test',
  } as const
  return {
    ...fixedFields,
    target: mailTarget as Delivery['target'],
    correlationId: 'c',
    message: { sender: { address: '@alice@alice.test' } } as NormalizedMessage,
    response: changedResponse,
  }
}

async function deliverResponse(
  changes: Partial<NormalizedResponse> = {},
  mailTarget: object = target,
): Promise<ReadMail & { octets: string }> {
  const preparedDelivery = gateway.channel.prepare(createDelivery(changes, mailTarget))
  expect(await preparedDelivery.transmit()).toEqual({ note: '250 2.0.0' })
  const octets = submittedMails.at(-1)?.octets ?? Buffer.alloc(0)
  return { ...readMail(octets), octets: octets.toString('latin1') }
}

test('a second attempt sends the same octets', async () => {
  const parts: Part[] = [
    ...response.parts,
    { kind: 'file', name: 'a.txt', mime: 'text/plain', bytes_ref: { kind: 'inline', data_base64: 'Ynl0ZXM=' } },
  ]
  expect((await deliverResponse({ parts })).octets).toBe((await deliverResponse({ parts })).octets)
})

test('a mail that resumes after days has a new signature and the same content', async () => {
  const signedAt = ({ octets }: { octets: string }) => Array.from(octets.matchAll(/ t=(\d+);/g), ([, t]) => Number(t))
  const withoutSignatures = (octets: string) => octets.slice(octets.indexOf('From: '))
  const firstMail = await deliverResponse()
  const retryAt = Date.parse(response.created_at) + 6 * 86_400_000
  await gateway.channel.prepare({ ...createDelivery(), queuedAt: retryAt }).transmit()
  const resumedMail = { octets: submittedMails.at(-1)?.octets.toString('latin1') ?? '' }
  expect(signedAt(firstMail)).toEqual([Date.parse(response.created_at) / 1000, Date.parse(response.created_at) / 1000])
  expect(signedAt(resumedMail)).toEqual([retryAt / 1000, retryAt / 1000])
  expect(withoutSignatures(resumedMail.octets)).toBe(withoutSignatures(firstMail.octets))
})

test('the gateway sends exactly the expected mail, with every header once', async () => {
  const mail = await deliverResponse()
  const header = (name: string) => mail.headers.get(name)
  expect(header('date')).toEqual(['Sat, 21 Nov 2026 10:00:00 +0000'])
  expect(header('message-id')).toEqual([`<${response.id}@${mailDomain}>`])
  expect(header('in-reply-to')).toEqual(['<m1@alice.test>'])
  expect(header('references')).toEqual(['<root@alice.test> <m1@alice.test>'])
  expect(header('content-type')?.[0]).toMatch(/^multipart\/alternative;/)
  for (const [name, values] of mail.headers)
    expect([name, values.length]).toEqual([name, name === 'dkim-signature' ? 2 : 1])
  for (const line of mail.octets.split('\r\n')) expect(line.length).toBeLessThan(998)
})

test('an answer never refers to a Message-ID that the gateway generated (EM-4.2)', async () => {
  const { headers } = await deliverResponse({}, { ...target, message_id: undefined, references: [] })
  expect(headers.has('in-reply-to')).toBe(false)
  expect(headers.has('references')).toBe(false)
})

test('a long chain of references keeps its first and last ids', async () => {
  const references = Array.from({ length: 60 }, (_, index) => `r${index}@x.test`)
  const mail = await deliverResponse({}, { ...target, references })
  expect(mail.references).toHaveLength(20)
  expect(mail.references.slice(0, 5)).toEqual(references.slice(0, 5))
  expect(mail.references.at(-1)).toBe('m1@alice.test')
})

test.each([
  ['Lunch', 'Re: Lunch'],
  ['Re: Lunch', 'Re: Lunch'],
  ['AW: SV: RE[2]: Lunch', 'Re: Lunch'],
  ['Regarding: Lunch', 'Re: Regarding: Lunch'],
  ['', 'Re: (no subject)'],
  ['Grüße', '=?UTF-8?Q?Re=3A_Gr=C3=BC=C3=9Fe?='],
])('the answer to %j has the subject %j', async (subject, expectedSubject) => {
  expect((await deliverResponse({}, { ...target, subject })).headers.get('subject')).toEqual([expectedSubject])
})

test('a header injection becomes part of one line (EM-57)', async () => {
  const injectedSubject = 'Hi\r\nBcc: victim@x.test\r\n\r\nboo'
  const intakeResponse = await gateway.post(
    `From: =?utf-8?q?Al=0D=0ABcc=3A_v=40x.test?= <alice@nodmarc.test>\nTo: echo@${mailDomain}\nSubject: =?utf-8?b?${Buffer.from(injectedSubject).toString('base64')}?=\nMessage-ID: <inj@nodmarc.test>\n\nHi\n`,
  )
  expect(intakeResponse.status).toBe(200)
  const [turn] = await gateway.store.leaseTurns({ holder: 'test', limit: 1, leaseMs: 1_000 })
  if (!turn) throw new Error('no turn')
  // The message for the agent and the stored target have no second line either.
  expect(JSON.stringify([turn.content.parts, turn.content.sender, turn.target])).not.toMatch(/\\r|\\nBcc/)
  const { deliveries } = gateway.channel.address({ turn, response })
  for (const [deliveryTarget, changes] of [
    [deliveries[0]?.target, {}],
    [target, { subject: injectedSubject }],
  ] as const) {
    const mail = await deliverResponse(changes, deliveryTarget as object)
    expect(mail.headers.has('bcc')).toBe(false)
    expect(mail.headers.get('subject')?.[0]).toMatch(/^(Re: )?Hi Bcc: victim@x\.test boo$/)
    expect(mail.text?.trim()).toBe('Hello')
  }
  expect(submittedMails.at(-1)?.envelope).toEqual({ from: bounceAddress, to: ['alice@alice.test'] })
})

describe('a mail part', () => {
  const deliverParts = async (...parts: Part[]) => {
    const mail = await deliverResponse({ parts })
    return { text: mail.text?.trim(), html: mail.html?.trim(), octets: mail.octets }
  }

  test('in Markdown has its own text, and HTML of a few elements (EM-4.7)', async () => {
    const content =
      '# Title\n\n- *one*\n- `two`\n\n[here](https://x.test/a) and **there**\n\n```\n<b>\n```\n\n<script>alert(1)</script> [bad](javascript:alert(1))'
    const mail = await deliverParts({ kind: 'text', mime: 'text/markdown', content })
    expect(mail.text).toBe(content)
    expect(mail.html).toContain('<h1 dir="auto">Title</h1>')
    expect(mail.html).toContain('<li dir="auto"><em>one</em></li>')
    expect(mail.html).toContain('<code>two</code>')
    expect(mail.html).toContain('<a href="https://x.test/a">here</a> and <strong>there</strong>')
    expect(mail.html).toContain('<pre><code>&lt;b&gt;\n</code></pre>')
    expect(mail.html).toContain('&lt;script&gt;')
    expect(mail.html).not.toMatch(/<script|href="javascript/)
  })

  test('in plain text keeps its signs of Markdown', async () => {
    const mail = await deliverParts({ kind: 'text', mime: 'text/plain', content: 'a *b*\n<c>' })
    expect(mail).toMatchObject({ text: 'a *b*\n<c>', html: '<p dir="auto">a *b*<br>\n&lt;c&gt;</p>' })
  })

  test('in HTML keeps its structure, without backslashes in the plain text', async () => {
    const content = '<h2>Hours</h2><ul><li>Mon: 9-5</li></ul><p>See <a href="https://x.test/map">the map</a>.</p>'
    const mail = await deliverParts({ kind: 'text', mime: 'text/html', content })
    expect(mail.text).toBe('Hours\n\n- Mon: 9-5\n\nSee the map (https://x.test/map).')
    for (const piece of ['<h2', '<ul', '<li', '<a href="https://x.test/map"']) expect(mail.html).toContain(piece)
    const escaped = await deliverParts({ kind: 'text', mime: 'text/markdown', content: 'Write \\#help, 2 \\* 3.' })
    expect(escaped).toMatchObject({ text: 'Write #help, 2 * 3.' })
  })

  test('in HTML becomes text', async () => {
    const mail = await deliverParts({
      kind: 'text',
      mime: 'text/html',
      content: '<p>One</p><p>Two</p><img src="https://x.test/pixel">',
    })
    expect(mail).toMatchObject({ text: 'One\n\nTwo' })
    expect(mail.html).not.toContain('<img')
  })

  test('of a link, requirement or tool call is readable (MN-3)', async () => {
    const mail = await deliverParts(
      { kind: 'link', url: 'https://x.test/', title: 'X', description: 'About X' },
      {
        kind: 'policy',
        policy: { kind: 'consent_required', message: 'May I?', url: 'https://x.test/yes', action_label: 'Yes' },
      },
      { kind: 'tool_call', id: '1', name: 'add', args: { a: 1 }, result: 2 },
      { kind: 'tool_call', id: '2', name: 'sub', error: { message: 'no' } },
      { kind: 'file', name: 'far.pdf', bytes_ref: { kind: 'url', url: 'https://x.test/far.pdf' } },
    )
    expect(mail.text).toBe(
      'X: https://x.test/\nAbout X\n\nMay I?\nYes: https://x.test/yes\n\nadd({"a":1}) → 2\n\nsub() failed: no\n\nfar.pdf: https://x.test/far.pdf',
    )
    expect(mail.html).toContain('<a href="https://x.test/yes">Yes</a>')
  })

  test('with an invalid link stays text', async () => {
    const { html } = await deliverParts({ kind: 'link', url: 'javascript:alert(1)', title: 'X' })
    expect(html).not.toContain('<a')
  })

  test('is the status if the answer has none', async () => {
    expect((await deliverResponse({ parts: [], status: 'rejected' })).text?.trim()).toBe('This was declined.')
  })

  test('of a file is an attachment, which the gateway reads by its digest', async () => {
    const bytes = Buffer.from('attached bytes')
    const digest = createHash('sha256').update(bytes).digest('hex')
    const file = `--b\nContent-Type: text/x-test\nContent-Disposition: attachment; filename=in.txt\n\n${bytes}\n--b--\n`
    await gateway.post(
      `From: bob@nodmarc.test\nTo: echo@${mailDomain}\nContent-Type: multipart/mixed; boundary=b\n\n${file}`,
    )
    const mail = await deliverParts(
      {
        kind: 'artifact',
        name: '../out.txt',
        mime: 'text/x-test',
        bytes_ref: { kind: 'content_addressed', algo: 'sha256', digest },
      },
      { kind: 'file', mime: 'nonsense', bytes_ref: { kind: 'inline', data_base64: bytes.toString('base64') } },
    )
    expect(mail.octets).toMatch(/Content-Type: text\/x-test; name=out\.txt/)
    expect(mail.octets).toMatch(/Content-Disposition: attachment; filename=attachment-2/)
    expect(mail.octets.split(bytes.toString('base64'))).toHaveLength(3)
  })

  test('with a missing or oversized file becomes a note, and the gateway sends the mail', async () => {
    const bytes_ref = { kind: 'content_addressed', algo: 'sha256', digest: '0'.repeat(64) } as const
    const missingFile: Part = { kind: 'file', name: 'gone & away.txt', bytes_ref }
    const data_base64 = Buffer.alloc(19 * 2 ** 20).toString('base64')
    const largeFile: Part = { kind: 'file', name: 'large.bin', bytes_ref: { kind: 'inline', data_base64 } }
    const text: Part = { kind: 'text', mime: 'text/plain', content: 'my words' }
    const mail = await deliverResponse({ parts: [text, missingFile, largeFile] })
    expect(mail.text).toMatch(/^my words/)
    expect(mail.text).toContain('this file is not stored any more.')
    expect(mail.html).toContain('<p>large.bin: this file is too large for a mail.</p>')
    expect(mail.octets).not.toMatch(/Content-Disposition: attachment/)
  })
})

test('mentioned people are in To and local agents in Cc, each with a delivery, except the agent itself (MN-8.1 recipient-field)', async () => {
  const mentions = [
    '@bob@nodmarc.test',
    '@helper@agents.test',
    '@echo@agents.test',
    '@alice@alice.test',
    '@bob@nodmarc.test',
    '@colleague@agents.test',
    'x\r\nBcc: y@z.test',
  ]
  const turn = { agent: 'echo', target } as unknown as Parameters<typeof gateway.channel.address>[0]['turn']
  const { deliveries, aliases } = gateway.channel.address({ turn, response: { ...response, mentions } })
  expect(aliases).toEqual([`${response.id}@${mailDomain}`, 'reply:0123456789abcdef'])
  expect(deliveries.map(({ to }) => to)).toEqual([
    'alice@alice.test',
    'bob@nodmarc.test',
    `colleague@${mailDomain}`,
    `helper@${mailDomain}`,
  ])
  const mailToAlice = await deliverResponse({}, deliveries[0]?.target as object)
  const mailToBob = await deliverResponse({}, deliveries[1]?.target as object)
  expect(mailToAlice.headers.get('to')?.[0]).toMatch(/alice@alice\.test>?, bob@nodmarc\.test, colleague@agents\.test$/)
  expect(mailToAlice.headers.get('cc')).toEqual([`helper@${mailDomain}`])
  expect(mailToBob.octets).toBe(mailToAlice.octets)
  expect(submittedMails.slice(-2).map(({ envelope }) => envelope)).toEqual([
    { from: bounceAddress, to: ['alice@alice.test'] },
    { from: bounceAddress, to: ['bob@nodmarc.test'] },
  ])
})

test('the operator sees the mail without the bytes of its files', () => {
  const parts: Part[] = [
    { kind: 'file', name: 'a.txt', mime: 'text/plain', bytes_ref: { kind: 'inline', data_base64: 'c2VjcmV0' } },
  ]
  const { wire } = gateway.channel.prepare(createDelivery({ parts }))
  expect(wire).toMatchObject({ subject: 'Re: Lunch', attachments: [{ name: 'a.txt', mime: 'text/plain' }] })
  expect(JSON.stringify(wire)).not.toContain('c2VjcmV0')
})

test('the gateway records the smarthost’s reply (EM-4.10)', async () => {
  submissionError = new Unavailable('the mail server put it off: 450')
  await expect(gateway.channel.prepare(createDelivery()).transmit()).rejects.toBe(submissionError)
  submissionError = undefined
})

test('the gateway lists its keys as DKIM, SPF and DMARC records to publish', async () => {
  const keys = (await gateway.channel.keys?.list()) ?? []
  expect(keys.map(({ dns }) => dns?.name)).toEqual([
    `postern._domainkey.${mailDomain}`,
    `postern-ed25519._domainkey.${mailDomain}`,
    mailDomain,
    `_dmarc.${mailDomain}`,
  ])
  expect(keys[0]?.dns?.value).toMatch(/^v=DKIM1; k=rsa; p=MIIBIj[A-Za-z0-9+/=]+$/)
  expect(keys[1]?.dns?.value).toMatch(/^v=DKIM1; k=ed25519; p=[A-Za-z0-9+/]{43}=$/)
  expect(gateway.channel.discovery?.links?.('echo')).toEqual([{ rel: 'mailto', href: `mailto:echo@${mailDomain}` }])
})
