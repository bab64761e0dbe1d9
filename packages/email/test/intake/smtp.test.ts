import type { Store } from '@postern/pipeline'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import type { SmtpClient } from '../setup/smtp-client.ts'
import { openSmtpClient } from '../setup/smtp-client.ts'

let counter = 0
function composeMail(from = 'Bob <bob@nodmarc.test>'): string {
  counter += 1
  return `From: ${from}\r\nTo: echo@${mailDomain}\r\nSubject: Hi\r\nMessage-ID: <s${counter}@nodmarc.test>\r\n\r\nHello ${counter}.\r\n`
}

async function openSession(port: number, command = 'EHLO'): Promise<{ client: SmtpClient; features: string }> {
  const client = await openSmtpClient(port)
  expect(await client.readReply()).toBe(
    `220 ${mailDomain} ESMTP Postern`.replace('ESMTP', command === 'LHLO' ? 'LMTP' : 'ESMTP'),
  )
  return { client, features: await client.sendLine(`${command} mx.nodmarc.test`) }
}

async function countStored(store: Store): Promise<number> {
  return (await store.listMessages({ limit: 1000 })).length
}

describe('the SMTP listener', () => {
  let gateway: MailGateway
  let port: number
  beforeAll(async () => {
    gateway = await openMailGateway({
      config: { listen: { port: 0, max_recipients: 2 }, limits: { message_bytes: 10_000 } },
    })
    port = gateway.listening?.port ?? 0
  })
  afterAll(() => gateway.close())

  test('announces its name and abilities', async () => {
    expect(gateway.listening?.description).toBe(`SMTP on 127.0.0.1:${port}`)
    const { client, features } = await openSession(port)
    expect(features).toContain('SIZE 10000')
    expect(features).toContain('8BITMIME')
    expect(features).toContain('SMTPUTF8')
    expect(features).toContain('ENHANCEDSTATUSCODES')
    expect(features).not.toMatch(/AUTH|STARTTLS|XFORWARD|XCLIENT/)
    client.end()
  })

  test('refuses an unknown agent at RCPT, and the operator sees it (EM-69)', async () => {
    const { client } = await openSession(port)
    await client.sendLine('MAIL FROM:<bob@nodmarc.test>')
    expect(await client.sendLine(`RCPT TO:<nobody@${mailDomain}>`)).toBe(
      '550 5.1.1 Cannot accept mail: no such agent here',
    )
    expect(await client.sendLine('RCPT TO:<echo@elsewhere.test>')).toBe(
      '550 5.1.1 Cannot accept mail: no such agent here',
    )
    expect(await client.sendLine(`RCPT TO:<Echo+tag@${mailDomain}>`)).toMatch(/^250 2\.1\.5 /)
    client.end()
    expect((await gateway.store.listRefusals({ limit: 1 }))[0]).toMatchObject({
      code: 'no_recipient',
      from: '127.0.0.1',
    })
  })

  test('defers one recipient too many (EM-69)', async () => {
    const { client } = await openSession(port)
    await client.sendLine('MAIL FROM:<bob@nodmarc.test>')
    await client.sendLine(`RCPT TO:<echo@${mailDomain}>`)
    await client.sendLine(`RCPT TO:<helper@${mailDomain}>`)
    expect(await client.sendLine(`RCPT TO:<echo+3@${mailDomain}>`)).toMatch(/^452 4\.5\.3 /)
    client.end()
  })

  test('accepts a mail only after it has stored it', async () => {
    const before = await countStored(gateway.store)
    const { client } = await openSession(port)
    await client.sendLine('MAIL FROM:<bob@nodmarc.test> BODY=8BITMIME SMTPUTF8')
    await client.sendLine(`RCPT TO:<echo@${mailDomain}>`)
    expect(await client.sendLine('DATA')).toMatch(/^354 /)
    expect(await client.sendLine(`${composeMail()}.`)).toBe('250 2.6.0 accepted')
    expect(await countStored(gateway.store)).toBe(before + 1)
    const { message, proofs } = await gateway.readLatestMessage()
    expect(message.raw).toMatch(/^From: Bob .*Hello \d+\.\r\n$/s)
    expect(proofs.find(({ kind }) => kind === 'spf')).toMatchObject({
      verdict: 'pass',
      domain: 'nodmarc.test',
      ip: '127.0.0.1',
    })
    client.end()
  })

  test('accepts SMTPUTF8 letters in envelope and header (RFC 6531, RFC 6532, EM-4.3)', async () => {
    const { client } = await openSession(port)
    const utf8 = (text: string) => Buffer.from(text).toString('latin1')
    expect(await client.sendLine(utf8('MAIL FROM:<jörg@nodmarc.test> SMTPUTF8'))).toMatch(/^250 /)
    expect(await client.sendLine(utf8(`RCPT TO:<ëcho@${mailDomain}>`))).toMatch(/^550 5\.1\.1 /)
    await client.sendLine(`RCPT TO:<echo@${mailDomain}>`)
    await client.sendLine('DATA')
    expect(await client.sendLine(utf8(`${composeMail('Jörg <jörg@nodmarc.test>')}.`))).toMatch(/^250 /)
    const { message } = await gateway.readLatestMessage()
    expect(message.sender).toMatchObject({ address: '@jörg@nodmarc.test', display_name: 'Jörg' })
    client.end()
  })

  test.each([
    ['two From', () => `From: a@x.test\r\n${composeMail()}`, '554 5.6.0 Cannot read mail: more than one From'],
    [
      'a From of our own',
      () => composeMail(`echo@${mailDomain}`),
      '550 5.7.1 Cannot accept mail: its From is one of our own agents',
    ],
    [
      'a header of 1001 fields',
      () => `${'X-A: b\r\n'.repeat(1001)}${composeMail()}`,
      '552 5.3.4 Cannot read mail: more than 1000 header fields',
    ],
    ['DNS that fails', () => composeMail('ann@lost.test'), '451 4.4.3 Cannot verify mail: DNS did not answer'],
    [
      'p=reject and no proof',
      () => composeMail('ann@alice.test'),
      expect.stringMatching(/^550 5\.7\.1 Cannot verify mail: no aligned proof, /),
    ],
  ])('refuses after DATA: %s', async (_what, message, reply) => {
    gateway.simulation.dns.fail('_dmarc.lost.test', 'servfail')
    const { client } = await openSession(port)
    await client.sendLine('MAIL FROM:<bob@nodmarc.test>')
    await client.sendLine(`RCPT TO:<echo@${mailDomain}>`)
    await client.sendLine('DATA')
    expect(await client.sendLine(`${message()}.`)).toEqual(reply)
    client.end()
  })

  test('refuses an oversized mail by SIZE, or after DATA without SIZE (EM-44)', async () => {
    const { client } = await openSession(port)
    expect(await client.sendLine('MAIL FROM:<bob@nodmarc.test> SIZE=10001')).toMatch(/^552 5\.3\.4 /)
    await client.sendLine('MAIL FROM:<bob@nodmarc.test>')
    await client.sendLine(`RCPT TO:<echo@${mailDomain}>`)
    await client.sendLine('DATA')
    expect(await client.sendLine(`${composeMail()}${'x'.repeat(98).concat('\r\n').repeat(100)}.`)).toBe(
      '552 5.3.4 Cannot accept mail: larger than 10000 bytes',
    )
    expect(await client.sendLine('NOOP')).toMatch(/^250 /)
    client.end()
  })

  test('records a refusal by the announced SIZE for the operator (EM-44)', async () => {
    const { client } = await openSession(port)
    await client.sendLine('MAIL FROM:<bob@nodmarc.test> SIZE=10001')
    await client.sendLine('QUIT')
    await client.closed
    await vi.waitFor(async () =>
      expect((await gateway.store.listRefusals({ limit: 1 }))[0]).toMatchObject({
        code: 'too_large',
        reason: 'Cannot accept mail: announced as larger than 10000 bytes',
        from: '127.0.0.1',
      }),
    )
  })

  test('accepts a message in more chunks than it collects before it joins them', async () => {
    const { client } = await openSession(port)
    await client.sendLine('MAIL FROM:<bob@nodmarc.test>')
    await client.sendLine(`RCPT TO:<echo@${mailDomain}>`)
    await client.sendLine('DATA')
    const lines = Array.from({ length: 1500 }, (_, index) => `..${index}\r\n`).join('')
    expect(await client.sendLine(`${composeMail()}${lines}.`)).toMatch(/^250 /)
    const [summary] = await gateway.store.listMessages({ limit: 1 })
    const record = await gateway.store.findMessage(summary?.id ?? '')
    const text = record?.message.parts.flatMap(part => (part.kind === 'text' ? part.content : [])).join('')
    expect(text?.split('\n').slice(1)).toEqual(Array.from({ length: 1500 }, (_, index) => `.${index}`))
    client.end()
  })

  test.each([
    ['LF.LF', '\n.\n'],
    ['LF.CRLF', '\n.\r\n'],
    ['CRLF.LF', '\r\n.\n'],
    ['CR.CR', '\r.\r'],
    ['CRLF.CR', '\r\n.\r'],
    ['CRLF.CRCRLF', '\r\n.\r\r\n'],
    ['CRLF NUL.CRLF', '\r\n\0.\r\n'],
  ])('does not end a message at %s (EM-66)', async (_what, sequence) => {
    const before = await countStored(gateway.store)
    const { client } = await openSession(port)
    await client.sendLine('MAIL FROM:<bob@nodmarc.test>')
    await client.sendLine(`RCPT TO:<echo@${mailDomain}>`)
    await client.sendLine('DATA')
    const smugglingMail = `${composeMail()}one${sequence}MAIL FROM:<a@x.test>\r\nRCPT TO:<echo@${mailDomain}>\r\nDATA\r\n${composeMail()}`
    expect(await client.sendLine(`${smugglingMail}\r\n.`)).toMatch(/^250 /)
    expect(await countStored(gateway.store)).toBe(before + 1)
    client.end()
  })

  test('closes the connection for an endless line and for nonsense (EM-69)', async () => {
    const { client: longLineClient } = await openSession(port)
    longLineClient.sendText('x'.repeat(1024 * 1024))
    await longLineClient.closed
    const { client: longerLineClient } = await openSession(port)
    longerLineClient.sendText(`NOOP ${'x'.repeat(10 * 1024 * 1024)}`)
    await longerLineClient.closed
    const { client: hastyClient } = await openSession(port)
    hastyClient.sendText('GARBAGE\r\n'.repeat(5_000))
    await hastyClient.closed
  })

  test('refuses unknown commands, logins and STARTTLS (EM-69)', async () => {
    const { client } = await openSession(port)
    for (const command of ['FROBNICATE', 'AUTH PLAIN AGEAYg==', 'STARTTLS'])
      expect(await client.sendLine(command)).toMatch(/^5\d\d /)
    client.end()
  })

  // This test needs its own listener, because on the shared one a test that a busy machine delays would count as a silent client too.
  test('disconnects a silent client (EM-69)', async () => {
    const impatientGateway = await openMailGateway({ config: { listen: { port: 0, timeout_ms: 100 } } })
    const client = await openSmtpClient(impatientGateway.listening?.port ?? 0)
    await vi.waitFor(async () => expect(await client.readReply()).toMatch(/^421 /))
    await client.closed
    await impatientGateway.close()
  })

  test('disconnects a mail of only escaped dots before it costs much time', async () => {
    const largeGateway = await openMailGateway({ config: { listen: { port: 0 } } })
    const { client } = await openSession(largeGateway.listening?.port ?? 0)
    await client.sendLine('MAIL FROM:<bob@nodmarc.test>')
    await client.sendLine(`RCPT TO:<echo@${mailDomain}>`)
    await client.sendLine('DATA')
    client.sendText(`${composeMail()}${'..\r\n'.repeat(6_000_000)}`)
    expect(await client.readReply()).toBe('554 5.6.0 Cannot accept mail: it comes in too many pieces')
    await client.closed
    expect(await largeGateway.store.listRefusals({ limit: 1 })).toMatchObject([
      { code: 'malformed', reason: 'Cannot accept mail: it comes in too many pieces' },
    ])
    expect(await countStored(largeGateway.store)).toBe(0)
    await largeGateway.close()
  })

  // This test needs its own listener, because the shared server may still count the closed connections of earlier tests.
  test('refuses more connections than the limit', async () => {
    const narrowGateway = await openMailGateway({ config: { listen: { port: 0, max_connections: 3 } } })
    const port = narrowGateway.listening?.port ?? 0
    const clients = await Promise.all([1, 2, 3].map(() => openSession(port)))
    const lateClient = await openSmtpClient(port)
    expect(await lateClient.readReply()).toMatch(/^421 /)
    for (const { client } of clients) client.end()
    await narrowGateway.close()
  })
})

describe('the operator’s forwarding mail server', () => {
  const forwardMail = async (config: { protocol: 'smtp' | 'lmtp'; trusted_peers: string[] }, ...commands: string[]) => {
    const gateway = await openMailGateway({ config: { listen: { port: 0, ...config } } })
    gateway.simulation.dns.set('nodmarc.test', { TXT: ['v=spf1 ip4:192.0.2.5 -all'] })
    const hello = config.protocol === 'lmtp' ? 'LHLO' : 'EHLO'
    const { client, features } = await openSession(gateway.listening?.port ?? 0, hello)
    const replies: string[] = []
    for (const command of commands) replies.push(await client.sendLine(command))
    if (commands[0]?.startsWith('XCLIENT')) await client.sendLine(`${hello} mx.nodmarc.test`)
    await client.sendLine('MAIL FROM:<bob@nodmarc.test>')
    await client.sendLine(`RCPT TO:<echo@${mailDomain}>`)
    await client.sendLine('DATA')
    expect(await client.sendLine(`${composeMail()}.`)).toMatch(/^250 /)
    const { proofs } = await gateway.readLatestMessage()
    client.end()
    await gateway.close()
    return { features, replies, spf: proofs.find(({ kind }) => kind === 'spf') }
  }
  const trustedPeers = ['127.0.0.1']

  test.each<[string, 'smtp' | 'lmtp', string]>([
    ['XFORWARD', 'lmtp', 'XFORWARD ADDR=192.0.2.5 HELO=mx.nodmarc.test PROTO=ESMTP'],
    ['XFORWARD', 'smtp', 'XFORWARD ADDR=192.0.2.5 HELO=mx.nodmarc.test'],
    ['XCLIENT', 'smtp', 'XCLIENT ADDR=192.0.2.5'],
  ])('declares the client by %s over %s', async (name, protocol, command) => {
    const { features, spf } = await forwardMail({ protocol, trusted_peers: trustedPeers }, command)
    expect(features).toContain(name)
    expect(spf).toMatchObject({ verdict: 'pass', ip: '192.0.2.5', domain: 'nodmarc.test' })
  })

  test.each<[string, 'smtp' | 'lmtp', string[]]>([
    ['nothing over LMTP', 'lmtp', []],
    ['nothing over SMTP', 'smtp', trustedPeers],
    ['that it does not know', 'smtp', trustedPeers],
  ])('leaves SPF without a client if it declares %s', async (what, protocol, trusted_peers) => {
    const commands = what === 'that it does not know' ? ['XFORWARD ADDR=[UNAVAILABLE]'] : []
    const { spf } = await forwardMail({ protocol, trusted_peers }, ...commands)
    expect(spf).toMatchObject({ verdict: 'unverifiable' })
  })

  test.each(['XFORWARD ADDR=192.0.2.5', 'XCLIENT ADDR=192.0.2.5'])(
    'and another peer’s %s does not count (EM-68)',
    async command => {
      const { features, replies, spf } = await forwardMail({ protocol: 'smtp', trusted_peers: ['192.0.2.99'] }, command)
      expect(features).not.toMatch(/XFORWARD|XCLIENT/)
      expect(replies).toEqual([expect.stringMatching(/^5\d\d /)])
      expect(spf).toMatchObject({ verdict: 'fail', ip: '127.0.0.1' })
    },
  )
})

describe('the LMTP listener', () => {
  let gateway: MailGateway
  let failingAgents = new Set<string>()
  const watchStore = (store: Store): Store =>
    new Proxy(store, {
      get(target, member) {
        const value: unknown = Reflect.get(target, member, target)
        if (member !== 'admit') return typeof value === 'function' ? value.bind(target) : value
        const admit: Store['admit'] = async (intake, id) => {
          if (failingAgents.has(intake.agent)) throw new Error('the disk is full')
          return target.admit(intake, id)
        }
        return admit
      },
    })
  beforeAll(async () => {
    gateway = await openMailGateway({ config: { listen: { port: 0, protocol: 'lmtp' } }, wrapStore: watchStore })
  })
  afterAll(() => gateway.close())

  test('answers each recipient separately, and a second attempt delivers only to missing recipients (EM-70)', async () => {
    const { client } = await openSession(gateway.listening?.port ?? 0, 'LHLO')
    const message = composeMail()
    const deliverMail = async () => {
      await client.sendLine('MAIL FROM:<bob@nodmarc.test>')
      expect(await client.sendLine(`RCPT TO:<nobody@${mailDomain}>`)).toMatch(/^550 5\.1\.1 /)
      await client.sendLine(`RCPT TO:<helper@${mailDomain}>`)
      await client.sendLine(`RCPT TO:<echo@${mailDomain}>`)
      await client.sendLine('DATA')
      return [await client.sendLine(`${message}.`), await client.readReply()]
    }
    failingAgents = new Set(['helper'])
    expect(await deliverMail()).toEqual(['451 4.3.0 Cannot accept mail now', '250 2.6.0 accepted'])
    failingAgents = new Set()
    expect(await deliverMail()).toEqual(['250 2.6.0 accepted', '250 2.6.0 accepted'])
    const agents = (await gateway.store.listMessages({ limit: 10 })).map(({ agent }) => agent)
    expect(agents.toSorted()).toEqual(['echo', 'helper'])
    client.end()
  })

  test('refuses a mail for all of its recipients, or for none', async () => {
    const { client } = await openSession(gateway.listening?.port ?? 0, 'LHLO')
    await client.sendLine('MAIL FROM:<bob@nodmarc.test>')
    await client.sendLine(`RCPT TO:<helper@${mailDomain}>`)
    await client.sendLine(`RCPT TO:<echo@${mailDomain}>`)
    await client.sendLine('DATA')
    const reply = '554 5.6.0 Cannot read mail: more than one From'
    expect([await client.sendLine(`From: a@x.test\r\n${composeMail()}.`), await client.readReply()]).toEqual([
      reply,
      reply,
    ])
    client.end()
  })
})
