import { createHmac } from 'node:crypto'
import parseAddresses from 'nodemailer/lib/addressparser/index.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, mailIntakeSecret, openMailGateway } from '../setup/gateway.ts'

let gateway: MailGateway
let mailCount = 0

beforeAll(async () => {
  gateway = await openMailGateway()
})
afterAll(() => gateway.close())

interface MailDraft {
  readonly from?: string
  readonly headerFields?: string
  readonly body?: string
}

function composeMail({
  from = 'From: Bob <bob@nodmarc.test>',
  headerFields = '',
  body = 'Hello.\n',
}: MailDraft = {}): string {
  mailCount += 1
  return `${from}\nTo: echo@${mailDomain}\n${headerFields}Subject: Hello\nMessage-ID: <i${mailCount}@nodmarc.test>\n\n${body}`
}

async function expectAccepted(message: string | Uint8Array, envelope?: Readonly<Record<string, string | string[]>>) {
  const answer = await gateway.post(message, envelope)
  expect(answer).toMatchObject({ status: 200, body: { status: 'accepted' } })
  return gateway.readLatestMessage()
}

async function expectRefused(
  message: string | Uint8Array,
  status: number,
  detail: string,
  envelope?: Record<string, string>,
) {
  const before = await gateway.store.count()
  const answer = await gateway.post(message, envelope)
  expect(answer).toMatchObject({ status, body: { detail } })
  const after = await gateway.store.count()
  expect(after.messages).toEqual(before.messages)
}

describe('POST /email/inbound', () => {
  const request = (headers: Record<string, string>) =>
    gateway.channel.endpoint.routes.request(`/email/inbound?to=echo@${mailDomain}`, {
      method: 'POST',
      headers,
      body: 'not even a mail',
    })

  test.each<[string, Record<string, string>]>([
    ['no token', {}],
    ['another token', { authorization: 'Bearer of-bad-news-to-the-intake' }],
    ['the token with another scheme', { authorization: `Basic ${mailIntakeSecret}` }],
    ['half a token', { authorization: `Bearer ${mailIntakeSecret.slice(0, 8)}` }],
  ])('with %s fails before the gateway reads the body (EM-71)', async (_what, headers) => {
    const response = await request(headers)
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="mail intake"')
    expect(await response.json()).toMatchObject({
      code: 'unsigned',
      detail: 'Cannot accept mail: wrong or missing bearer token',
    })
  })

  describe('with a signature of Standard Webhooks', () => {
    const body = Buffer.from(composeMail({ body: 'Signed by its hook.\n' }).replaceAll('\n', '\r\n'))
    const signWebhook = (options: Partial<Record<'id' | 'secret' | 'body', string>> & { ageSeconds?: number } = {}) => {
      const { id = 'msg_1', secret = mailIntakeSecret, ageSeconds = 0 } = options
      const time = `${Math.floor(gateway.system.now() / 1000) - ageSeconds}`
      const signedText = `${id}.${time}.${options.body ?? body}`
      const signature = createHmac('sha256', secret).update(signedText).digest('base64')
      return { 'webhook-id': id, 'webhook-timestamp': time, 'webhook-signature': `v1a,x v1,${signature}` }
    }
    const postWebhook = async (headers: Record<string, string>) => {
      const response = await gateway.channel.endpoint.routes.request(`/email/inbound?to=echo@${mailDomain}`, {
        method: 'POST',
        headers,
        body,
      })
      return { ...((await response.json()) as { detail?: string }), status: response.status }
    }

    test('succeeds once: the gateway refuses a repeated request and accepts a new attempt', async () => {
      const headers = signWebhook()
      expect(await postWebhook(headers)).toMatchObject({ status: 200 })
      expect(await postWebhook(headers)).toMatchObject({
        status: 401,
        detail: 'Cannot accept webhook: this webhook was received already',
      })
      expect(await postWebhook(signWebhook({ ageSeconds: 60 }))).toMatchObject({
        status: 200,
        messages: [{ outcome: 'duplicate' }],
      })
    })

    test('cannot arrive again for another recipient, although the signature does not cover the recipient (EM-71)', async () => {
      const headers = signWebhook({ id: 'msg_9' })
      expect(await postWebhook(headers)).toMatchObject({ status: 200 })
      const secondGateway = await openMailGateway({ wrapStore: () => gateway.store })
      const url = `/email/inbound?to=helper@${mailDomain}`
      const answer = await secondGateway.channel.endpoint.routes.request(url, { method: 'POST', headers, body })
      expect(await answer.json()).toMatchObject({
        status: 401,
        detail: 'Cannot accept webhook: this webhook was received already',
      })
      await secondGateway.close()
    })

    test.each<[string, () => Record<string, string>, string]>([
      [
        'EM-71: a wrong key',
        () => signWebhook({ id: 'msg_3', secret: 'x' }),
        'Cannot accept mail: its webhook signature is wrong',
      ],
      [
        'EM-71: another body',
        () => signWebhook({ id: 'msg_4', body: 'x' }),
        'Cannot accept mail: its webhook signature is wrong',
      ],
      [
        'EM-71: an old time',
        () => signWebhook({ ageSeconds: 301 }),
        'Cannot accept webhook: its time is too far from now',
      ],
      [
        'EM-71: a time in the future',
        () => signWebhook({ ageSeconds: -310 }),
        'Cannot accept webhook: its time is too far from now',
      ],
      [
        'EM-71: no time',
        () => ({ ...signWebhook(), 'webhook-timestamp': '' }),
        'Cannot accept webhook: its time is too far from now',
      ],
      [
        'a bearer token beside a wrong signature',
        () => ({ ...signWebhook({ id: 'msg_2', secret: 'x' }), authorization: `Bearer ${mailIntakeSecret}` }),
        'Cannot accept mail: its webhook signature is wrong',
      ],
    ])('refuses %s', async (_what, headers, detail) => {
      expect(await postWebhook(headers())).toMatchObject({ status: 401, detail })
    })

    test('accepts a whsec_ key as base64', async () => {
      const key = Buffer.from('thirty-two octets of a good key.')
      const whsecGateway = await openMailGateway({ config: { intake: { secret: `whsec_${key.toString('base64')}` } } })
      const time = `${Math.floor(whsecGateway.system.now() / 1000)}`
      const signature = createHmac('sha256', key).update(`a.${time}.${body}`).digest('base64')
      const response = await whsecGateway.channel.endpoint.routes.request(`/email/inbound?to=echo@${mailDomain}`, {
        method: 'POST',
        headers: { 'webhook-id': 'a', 'webhook-timestamp': time, 'webhook-signature': `v1,${signature}` },
        body,
      })
      expect(response.status).toBe(200)
      await whsecGateway.close()
    })
  })

  test('fails without a configured secret, with the reason', async () => {
    const closedGateway = await openMailGateway({ config: { intake: undefined } })
    const answer = await closedGateway.post(composeMail())
    expect(answer).toMatchObject({
      status: 403,
      body: { detail: 'Cannot accept mail: email.intake.secret is not configured' },
    })
    await closedGateway.close()
  })

  test('fails with another content type or an encoded body (EM-73)', async () => {
    const authorization = `Bearer ${mailIntakeSecret}`
    expect((await request({ authorization, 'content-type': 'application/json' })).status).toBe(415)
    const encodedResponse = await request({
      authorization,
      'content-type': 'message/rfc822',
      'content-encoding': 'gzip',
    })
    expect(encodedResponse.status).toBe(415)
  })

  test('fails with more than 25 MB (EM-44)', async () => {
    await expectRefused(Buffer.alloc(26 * 1024 * 1024, 'x'), 413, 'Cannot read body: larger than 26214400 bytes')
  })

  test('fails for an unknown agent, another domain and an invalid address', async () => {
    for (const to of [`nobody@${mailDomain}`, 'echo@elsewhere.test', 'echo', `echo@${mailDomain}@x.test`]) {
      await expectRefused(composeMail(), 404, 'Cannot accept mail: no such agent here', { to })
    }
  })

  test('requires a valid "ip"', () =>
    expectRefused(composeMail(), 400, 'Cannot accept mail: "ip" is not an IP address', {
      to: `echo@${mailDomain}`,
      ip: 'localhost',
    }))

  test('reaches an agent once whose address comes in any case, in brackets and with a tag (EM-4.3)', async () => {
    const { message } = await expectAccepted(composeMail(), {
      to: [`<ECHO@Agents.TEST>`, `echo+shop.42@${mailDomain}`],
      from: 'bob@nodmarc.test',
    })
    expect(message.recipient).toBe(`@echo@${mailDomain}`)
  })

  test('gives two agents one message each (EM-2.1)', async () => {
    const before = (await gateway.store.listMessages({ limit: 100 })).length
    await expectAccepted(composeMail(), { to: [`echo@${mailDomain}`, `helper@${mailDomain}`, `nobody@${mailDomain}`] })
    expect((await gateway.store.listMessages({ limit: 100 })).length).toBe(before + 2)
  })

  test('takes recipients from the header without an envelope', async () => {
    const { message } = await expectAccepted(`Delivered-To: helper@${mailDomain}\n${composeMail()}`, {})
    expect(message.recipient).toBe(`@helper@${mailDomain}`)
    expect((await expectAccepted(composeMail(), {})).message.recipient).toBe(`@echo@${mailDomain}`)
  })
})

describe('the author of a mail', () => {
  test.each([
    ['EM-03: a second From above', 'From: a@x.test\nFrom: b@x.test', 'Cannot read mail: more than one From'],
    ['EM-26: no From', 'X-From: a@x.test', 'Cannot read mail: no From'],
    ['EM-26: an empty From', 'From: ', 'Cannot read mail: no From'],
    ['EM-26: a group', 'From: People: a@x.test;', 'Cannot read mail: From is not one plain mailbox'],
    ['EM-26: two mailboxes', 'From: a@x.test, b@x.test', 'Cannot read mail: more than one mailbox in From'],
    [
      'EM-28: all of it one encoded word',
      'From: =?utf-8?q?ceo=40corp.test?=',
      'Cannot read mail: From is not one plain mailbox',
    ],
    [
      'EM-29: an address in a quoted local part',
      'From: "a@corp.test"@evil.test',
      'Cannot read mail: From is not one plain mailbox',
    ],
    ['EM-29: two at signs', 'From: <a@corp.test@evil.test>', 'Cannot read mail: From is not one plain mailbox'],
    [
      'EM-29: an address that is not a mailbox beside one',
      'From: ceo@corp.test x@evil.test',
      'Cannot read mail: From is not one plain mailbox',
    ],
    ['EM-29: a control character', 'From: a\u0001b@x.test', 'Cannot read mail: From is not one plain mailbox'],
    ['EM-29: NUL', 'From: a\0@x.test', 'Cannot read mail: a header field has a bare CR or NUL'],
    ['EM-29: a host that is no name', 'From: a@[127.0.0.1]', 'Cannot read mail: From is not one plain mailbox'],
    ['an endless one', `From: ${'x'.repeat(5000)} <a@x.test>`, 'Cannot read mail: From is too long'],
  ])('the gateway refuses %s', (_row, from, detail) => expectRefused(composeMail({ from }), 400, detail))

  test.each([
    '<ceo@nodmarc.test> <bob@nodmarc.test>',
    'Ceo <ceo@nodmarc.test> Bob <bob@nodmarc.test>',
    '<<ceo@nodmarc.test>bob@nodmarc.test>',
    '<bob@nodmarc.test> ceo@nodmarc.test',
    '<bob@nodmarc.test',
    '"ceo@nodmarc.test',
    'Bob (<ceo@nodmarc.test>) <bob@nodmarc.test>',
  ])('From: %s is ambiguous, and the gateway refuses it (EM-29)', from =>
    expectRefused(composeMail({ from: `From: ${from}` }), 400, 'Cannot read mail: From is not one plain mailbox'),
  )

  test('the gateway refuses a second From below everything else (EM-04)', () =>
    expectRefused(composeMail({ headerFields: 'From: other@x.test\n' }), 400, 'Cannot read mail: more than one From'))

  test.each([
    ['EM-27: an address in the display name', '"ceo@corp.test" <x@evil.test>', '@x@evil.test', 'ceo@corp.test'],
    [
      'EM-27: the same in an encoded word',
      '=?utf-8?q?ceo=40corp=2Etest?= <x@evil.test>',
      '@x@evil.test',
      'ceo@corp.test',
    ],
    ['EM-29: a source route', '<@relay.test:j@x.test>', '@j@x.test', undefined],
    [
      'EM-29: the comments of RFC 5322 A.5',
      'Pete(A nice \\) chap) <pete(his account)@silly.test(his host)>',
      '@pete@silly.test',
      'Pete',
    ],
    ['EM-31: a dot at the end and upper case', 'Bob@NoDmarc.TEST.', '@Bob@nodmarc.test', undefined],
    ['EM-30: letters of another alphabet', 'a@пример.test', '@a@xn--e1afmkfd.test', undefined],
  ])('%s', async (_row, from, address, name) => {
    const { message, flags } = await expectAccepted(composeMail({ from: `From: ${from}` }))
    expect(message.sender.address).toBe(address)
    expect(message.sender.display_name).toBe(name)
    expect(flags.includes('display_name_spoof')).toBe(name?.includes('@') ?? false)
  })

  test.each([
    'Bob <bob@nodmarc.test>',
    '"Bob, the builder" <bob@nodmarc.test>',
    'Pete(A nice \\) chap) <pete(his account)@silly.test(his host)>',
    'bob@nodmarc.test (Bob)',
    '<@relay.test:j@x.test>',
    '=?utf-8?q?ceo=40corp=2Etest?= <x@evil.test>',
  ])('is the same here and in nodemailer for From: %s (EM-29)', async from => {
    const { message } = await expectAccepted(composeMail({ from: `From: ${from}` }))
    expect(message.sender.address).toBe(`@${parseAddresses(from, { flatten: true })[0]?.address}`)
  })

  test('cannot be one of our own agents from outside (EM-33)', async () => {
    const detail = 'Cannot accept mail: its From is one of our own agents'
    await expectRefused(composeMail({ from: `From: Echo <echo@${mailDomain}>` }), 403, detail)
    await expectRefused(composeMail({ from: `From: Helper+x <HELPER+x@${mailDomain}>` }), 403, detail)
  })

  test('may be another address of the same domain', async () => {
    expect((await expectAccepted(composeMail({ from: `From: person@${mailDomain}` }))).message.sender.address).toBe(
      `@person@${mailDomain}`,
    )
  })

  test.each([
    ['EM-32: elsewhere', 'reply@evil.test', 'bob@nodmarc.test', true],
    ['in the same place, but the sender is not verified', 'reply@nodmarc.test', 'bob@nodmarc.test', true],
    ['the author itself', 'bob@nodmarc.test', 'bob@nodmarc.test', false],
  ])('keeps the Reply-To %s', async (_what, replyTo, _mailbox, isDiverted) => {
    const { flags } = await expectAccepted(composeMail({ headerFields: `Reply-To: ${replyTo}\n` }))
    expect(flags.includes('reply_to_diverted')).toBe(isDiverted)
  })

  test.each(['Subject', 'To', 'Date', 'Message-ID', 'Reply-To', 'Content-Type'])(
    'the gateway keeps a second %s for the operator (EM-05)',
    async name => {
      const line = `${name}: ${name === 'Content-Type' ? 'text/plain' : '<a@b.test>'}\n`
      const { state, flags } = await expectAccepted(composeMail({ headerFields: line + line }))
      expect({ state, flags }).toEqual({ state: 'ignored', flags: expect.arrayContaining(['duplicate_header']) })
    },
  )
})

describe('the structure and size of a mail', () => {
  test('may be only a header without an empty line (EM-40)', async () => {
    const { message } = await expectAccepted(`From: bob@nodmarc.test\nTo: echo@${mailDomain}\nSubject: All there is`)
    expect(message.parts).toEqual([{ kind: 'text', mime: 'text/plain', content: 'All there is' }])
    expect(message.id).toMatch(/^sha256:[0-9a-f]{64}$/)
  })

  test.each([
    ['nothing at all', '', 'Cannot read mail: no From'],
    ['only a body', '\n\nHello\n', 'Cannot read mail: no From'],
    ['a continuation first', ' folded\nFrom: a@x.test\n\n', 'Cannot read mail: a header line is not a field'],
    ['a line without a colon', 'From: a@x.test\nwhatever\n\nbody', 'Cannot read mail: a header line is not a field'],
    ['binary', '\x00\xff\xfe\x01', 'Cannot read mail: a header line is not a field'],
  ])('the gateway refuses %s (EM-41)', (_what, message, detail) => expectRefused(message, 400, detail))

  test('does not include the line that pipes put before a message', async () => {
    await expectRefused(`From : bob@nodmarc.test\n${composeMail()}`, 400, 'Cannot read mail: more than one From')
    const { message } = await expectAccepted(`From bob@nodmarc.test Sat Nov 21 10:00:00 2026\n${composeMail()}`)
    expect(message.raw).toMatch(/^From: Bob/)
    await expectRefused(`From bob\nFrom bob\n${composeMail()}`, 400, 'Cannot read mail: a header line is not a field')
  })

  test('the gateway refuses a lone CR inside a header (EM-41)', () =>
    expectRefused(
      Buffer.from('From: a@x.test\rFrom: b@x.test\r\n\r\n'),
      400,
      'Cannot read mail: a header field has a bare CR or NUL',
    ))

  test.each([
    [
      'a block over 256 KB',
      `X-A: ${'a'.repeat(60_000)}\n`.repeat(5),
      'Cannot read mail: the header is larger than 262144 bytes',
    ],
    [
      'a field over 64 KB',
      `X-A: ${'a'.repeat(66_000)}\n`,
      'Cannot read mail: a header field is larger than 65536 bytes',
    ],
    [
      'a folded field over 64 KB',
      `X-A: a${'\n b'.repeat(30_000)}\n`,
      'Cannot read mail: a header field is larger than 65536 bytes',
    ],
    ['over 1000 fields', 'X-A: a\n'.repeat(1001), 'Cannot read mail: more than 1000 header fields'],
  ])('the gateway refuses %s (EM-42)', (_what, fields, detail) =>
    expectRefused(composeMail({ headerFields: fields }), 413, detail),
  )

  test('the gateway refuses over 1000 recipients in the header (EM-43)', () =>
    expectRefused(
      composeMail({ headerFields: `Cc: ${'a@x.test,'.repeat(1001)}\n` }),
      400,
      'Cannot read mail: more than 1000 recipients in the header',
    ))

  test.each([
    ['Reply-To', 'a@x.test,'],
    ['To', 'g:a;'],
    ['Cc', ','],
  ])('lead to a refusal for far too many entries in %s before any parsing', (name, entry) => {
    const fields = `${name}: ${entry.repeat(6000)}\n`.repeat(3)
    return expectRefused(
      composeMail({ headerFields: fields }),
      400,
      'Cannot read mail: more than 1000 recipients in the header',
    )
  })

  const nest = (depth: number): MailDraft => {
    const open = Array.from(
      { length: depth },
      (_, level) => `--b${level}\nContent-Type: multipart/mixed; boundary=b${level + 1}\n\n`,
    )
    return {
      headerFields: 'Content-Type: multipart/mixed; boundary=b0\n',
      body: `${open.join('')}--b${depth}\n\nDeep\n`,
    }
  }
  const embed = (count: number): MailDraft => ({
    headerFields: 'Content-Type: message/rfc822\n',
    body: 'Content-Type: message/rfc822\n\n'.repeat(count - 1).concat('From: a@x.test\n\nInner\n'),
  })
  const divide = (parts: number): MailDraft => ({
    headerFields: 'Content-Type: multipart/mixed; boundary=b\n',
    body: '--b\n\nx\n'.repeat(parts).concat('--b--\n'),
  })

  test.each([
    ['nested 51 deep', nest(50)],
    ['1001 parts', divide(1001)],
    ['100 000 parts in 1 MB (EM-46)', divide(100_000)],
    ['6 messages one in another', embed(6)],
  ])('the gateway keeps %s for the operator, unread (EM-45)', async (_what, draft) => {
    const { state, flags, message } = await expectAccepted(composeMail(draft))
    expect({ state, flags }).toEqual({ state: 'ignored', flags: ['mime_limits'] })
    expect(message.parts.filter(({ kind }) => kind === 'file')).toEqual([])
  })

  test.each([
    ['nested 20 deep', nest(20)],
    ['500 parts', divide(500)],
    ['2 messages one in another', embed(2)],
  ])('the gateway reads %s', async (_what, draft) => {
    expect(await expectAccepted(composeMail(draft))).toMatchObject({ state: 'received', flags: [] })
  })

  test('may include bare LF, bare CR and NUL in the body (EM-51)', async () => {
    const { message } = await expectAccepted(Buffer.from(composeMail({ body: 'one\ntwo\rthree\0\n' })))
    expect(message.parts).toEqual([
      { kind: 'text', mime: 'text/plain', content: 'one\ntwo\nthree' },
      { kind: 'email', subject: 'Hello', flags: ['invisible_characters'], invisible_characters: 1 },
    ])
    expect(message.raw).toContain('three\0')
  })

  test('may include an unreadable or absurd Date (EM-54)', async () => {
    for (const date of ['yesterday', 'Thu, 01 Jan 1970 00:00:00 +0000', 'Mon, 01 Jan 2090 00:00:00 +0000']) {
      const { message } = await expectAccepted(composeMail({ headerFields: `Date: ${date}\n` }))
      expect(Math.abs(Date.parse(message.received_at) - Date.now())).toBeLessThan(60_000)
    }
  })

  test('include files, which the store keeps under safe names by digest (EM-53)', async () => {
    const names = [
      '../../etc/passwd',
      'a/b\\c.txt',
      'evil\u202Egnp.exe',
      `${'x'.repeat(300)}.pdf`,
      'CON',
      'nul.txt',
      '',
    ]
    const file = (name: string) =>
      `--b\nContent-Type: application/pdf\nContent-Disposition: attachment; filename="=?utf-8?b?${Buffer.from(name).toString('base64')}?="\n\nbytes\n`
    const body = `--b\n\nLook\n${names.map(file).join('')}--b--\n`
    const { message } = await expectAccepted(
      composeMail({ headerFields: 'Content-Type: multipart/mixed; boundary=b\n', body }),
    )
    const files = message.parts.filter(part => part.kind === 'file')
    expect(files.map(({ name }) => name)).toEqual([
      'passwd',
      'c.txt',
      'evilgnp.exe',
      `${'x'.repeat(116)}.pdf`,
      '_CON',
      '_nul.txt',
      'attachment-7',
    ])
    const ref = files[0]?.bytes_ref
    const blob = ref?.kind === 'content_addressed' ? await gateway.store.findBlob(ref.digest) : undefined
    expect(
      Buffer.from(blob?.bytes ?? [])
        .toString()
        .trim(),
    ).toBe('bytes')
    expect(files[0]).toMatchObject({ mime: 'application/pdf', size: blob?.bytes.length })
  })

  test('lead a mail that outlasts its parser only to the operator', async () => {
    const hastyGateway = await openMailGateway({ config: { limits: { parse_timeout_ms: 10 } } })
    expect(await hastyGateway.post(composeMail({ headerFields: 'Content-Type: application/pdf\n' }))).toMatchObject({
      status: 200,
    })
    expect(await hastyGateway.readLatestMessage()).toMatchObject({
      state: 'ignored',
      flags: ['parser_killed'],
      message: { sender: { verified: false, auth_method: 'none' } },
      proofs: [{ kind: 'dkim', verdict: 'unverifiable', reason: 'the parser was stopped' }],
    })
    await hastyGateway.close()
  })
})
