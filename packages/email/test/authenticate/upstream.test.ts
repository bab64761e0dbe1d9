import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { createDkimKey, keyRecord, signText } from '../setup/sign.ts'
import { openSmtpClient } from '../setup/smtp-client.ts'

// A mail server in front of the gateway has already judged these mails (RFC 8601, EM-2.2).

const key = createDkimKey(2048)
const trustedAuthservId = 'mx.front.test'
const passResults = `dkim=pass header.d=shut.test; spf=fail; dmarc=pass header.from=shut.test`
let counter = 0
let gateway: MailGateway
let spfOnlyGateway: MailGateway
let plainGateway: MailGateway

beforeAll(async () => {
  const upstreams = [{ authserv_id: trustedAuthservId, endpoint: 'inbound' as const }]
  gateway = await openMailGateway({ config: { trust: { upstreams } } })
  spfOnlyGateway = await openMailGateway({ config: { trust: { upstreams, spf_only: true } } })
  plainGateway = await openMailGateway()
  for (const { simulation } of [gateway, spfOnlyGateway, plainGateway]) {
    simulation.dns.set('_dmarc.shut.test', { TXT: ['v=DMARC1; p=reject'] })
    simulation.dns.set('s1._domainkey.shut.test', { TXT: [keyRecord(key)] })
  }
})
afterAll(() => Promise.all([gateway.close(), spfOnlyGateway.close(), plainGateway.close()]))

/** Writes an unsigned mail under `p=reject`, which only a trusted verdict can save. */
function composeMail(...extraFields: readonly string[]): string {
  counter += 1
  const fields = extraFields.map(field =>
    /^\w+:/.test(field.replaceAll('-', '')) ? field : `Authentication-Results: ${field}`,
  )
  const baseFields = [
    `From: ann@shut.test`,
    `To: echo@${mailDomain}`,
    `Subject: ${counter}`,
    `Message-ID: <up${counter}@shut.test>`,
  ]
  return `${[...fields, ...baseFields].join('\r\n')}\r\n\r\nHello ${counter}.\r\n`
}

const receivedField = 'Received: from a.test by b.test; Sat, 21 Nov 2026 10:00:00 +0000'

describe('a server named for the endpoint', () => {
  test.each<[string, readonly string[]]>([
    ['that passed it', [`${trustedAuthservId}; ${passResults}`]],
    ['that passed it, under its own Received', [receivedField, `${trustedAuthservId}; ${passResults}`]],
    ['that does not say by what', [`${trustedAuthservId}; dmarc=pass header.from=shut.test`]],
    [
      'whose word stands above others',
      [`${trustedAuthservId}; ${passResults}`, `${trustedAuthservId}; dmarc=fail header.from=shut.test`, receivedField],
    ],
  ])('proves the author if %s', async (_what, extraFields) => {
    const message = composeMail(...extraFields)
    expect((await gateway.post(message)).status).toBe(200)
    const { message: storedMessage, proofs } = await gateway.readLatestMessage()
    expect(storedMessage.sender).toMatchObject({
      verified: true,
      auth_method: 'email-dmarc',
      key_id: `authserv:${trustedAuthservId}`,
      identities: [{ subject: 'mailto:ann@shut.test', issuer: `authserv:${trustedAuthservId}`, assurance: 'domain' }],
    })
    expect(proofs.at(-1)).toMatchObject({
      kind: 'authentication-results',
      verdict: 'pass',
      key_id: `authserv:${trustedAuthservId}`,
      domain: 'shut.test',
    })
  })

  test.each<[string, readonly string[]]>([
    ['of another name', [`mx.other.test; ${passResults}`]],
    ['with the name in other letters', [`MX.front.test; ${passResults}`]],
    ['with the name in quotes', [`"${trustedAuthservId}"; ${passResults}`]],
    ['with the name behind a comment', [`(x) ${trustedAuthservId}; ${passResults}`]],
    ['with the name before a comment', [`${trustedAuthservId} (x); ${passResults}`]],
    ['of a longer name', [`${trustedAuthservId}.evil.test; ${passResults}`]],
    ['under another one', [`mx.other.test; dmarc=none`, `${trustedAuthservId}; ${passResults}`]],
    ['under two Received', [receivedField, receivedField, `${trustedAuthservId}; ${passResults}`]],
    ['that failed it', [`${trustedAuthservId}; dmarc=fail header.from=shut.test`]],
    [
      'that passed it after it failed it',
      [`${trustedAuthservId}; dmarc=fail header.from=shut.test`, `${trustedAuthservId}; ${passResults}`],
    ],
    ['that passed somebody else', [`${trustedAuthservId}; dmarc=pass header.from=open.test`]],
    ['that passed nobody by name', [`${trustedAuthservId}; dmarc=pass`]],
    ['that says two things', [`${trustedAuthservId}; dmarc=fail header.from=shut.test; ${passResults}`]],
    ['that says nothing of DMARC', [`${trustedAuthservId}; dkim=pass header.d=shut.test`]],
    ['that passed it in a comment', [`${trustedAuthservId}; none (${passResults})`]],
    [
      'that passed it for a reason',
      [`${trustedAuthservId}; dmarc=fail reason="x; ${passResults}" header.from=shut.test`],
    ],
    [
      'that passed it by SPF alone',
      [`${trustedAuthservId}; spf=pass smtp.mailfrom=shut.test; dmarc=pass header.from=shut.test`],
    ],
    [
      'that passed it by SPF beside a signature of another',
      [`${trustedAuthservId}; spf=pass; dkim=pass header.d=evil.test; dmarc=pass header.from=shut.test`],
    ],
    ['that the gateway cannot read', [`${trustedAuthservId}; dmarc=pass (header.from=shut.test`]],
    [
      'in a longer field than any server writes',
      [`${trustedAuthservId}; ${passResults}; x=none (${'a '.repeat(9_000)})`],
    ],
    ['in another field', [`X-Authentication-Results: ${trustedAuthservId}; ${passResults}`]],
  ])('proves nothing if %s', async (_what, extraFields) => {
    expect(await gateway.post(composeMail(...extraFields))).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  })

  test('counts by SPF if that is enough', async () => {
    const message = composeMail(
      `${trustedAuthservId}; spf=pass smtp.mailfrom=shut.test; dmarc=pass header.from=shut.test`,
    )
    expect((await spfOnlyGateway.post(message)).status).toBe(200)
    expect((await spfOnlyGateway.readLatestMessage()).message.sender.verified).toBe(true)
  })

  test('neither helps nor harms an author with their own proof', async () => {
    const signedMail = signText(composeMail(), { domain: 'shut.test', key, fields: ['from', 'to', 'subject'] })
    const message = `Authentication-Results: ${trustedAuthservId}; dmarc=fail header.from=shut.test\r\n${signedMail}`
    expect((await gateway.post(message)).status).toBe(200)
    expect((await gateway.readLatestMessage()).message.sender).toMatchObject({
      verified: true,
      key_id: 'd=shut.test/s=s1',
    })
  })

  test('counts only at its own endpoint, and only by its configured name', async () => {
    expect((await plainGateway.post(composeMail(`${trustedAuthservId}; ${passResults}`))).status).toBe(403)
    const otherGateway = await openMailGateway({
      config: { trust: { upstreams: [{ authserv_id: trustedAuthservId, endpoint: 'listen' }] } },
    })
    otherGateway.simulation.dns.set('_dmarc.shut.test', { TXT: ['v=DMARC1; p=reject'] })
    expect((await otherGateway.post(composeMail(`${trustedAuthservId}; ${passResults}`))).status).toBe(403)
    await otherGateway.close()
  })
})

describe('a forged verdict of a server (EM-23)', () => {
  test('is hidden from agents and operators', async () => {
    const message = composeMail(
      `${trustedAuthservId}; ${passResults}`,
      `mx.evil.test;\r\n dmarc=pass header.from=corp.test`,
      receivedField,
      `${trustedAuthservId}; dmarc=pass header.from=bank.test`,
    )
    expect((await gateway.post(message)).status).toBe(200)
    const { raw } = (await gateway.readLatestMessage()).message
    expect(raw).toBe(
      message
        .replace(/Authentication-Results: mx\.evil\.test;\r\n .*\r\n/, '')
        .replace(/Authentication-Results: mx\.front\.test; dmarc=pass header\.from=bank\.test\r\n/, ''),
    )
    expect(raw).toContain(`Authentication-Results: ${trustedAuthservId}; ${passResults}`)
  })

  test('does not count without a configured server', async () => {
    const message = composeMail(`${trustedAuthservId}; ${passResults}`, `${mailDomain}; ${passResults}`).replace(
      'ann@shut.test',
      'ann@open.test',
    )
    expect((await plainGateway.post(message)).status).toBe(200)
    expect((await plainGateway.readLatestMessage()).message.raw).not.toMatch(/authentication-results/i)
  })
})

describe('over LMTP', () => {
  const deliverByLmtp = async (trusted_peers: readonly string[], clientCommands: readonly string[] = []) => {
    const upstreams = [{ authserv_id: trustedAuthservId, endpoint: 'listen' as const }]
    const config = {
      listen: { port: 0, protocol: 'lmtp' as const, trusted_peers: [...trusted_peers] },
      trust: { upstreams },
    }
    const lmtpGateway = await openMailGateway({ config })
    lmtpGateway.simulation.dns.set('_dmarc.shut.test', { TXT: ['v=DMARC1; p=reject'] })
    const client = await openSmtpClient(lmtpGateway.listening?.port ?? 0)
    await client.readReply()
    const lines = [
      'LHLO mx.test',
      ...clientCommands,
      'MAIL FROM:<ann@shut.test>',
      `RCPT TO:<echo@${mailDomain}>`,
      'DATA',
    ]
    for (const line of lines) await client.sendLine(line)
    const reply = await client.sendLine(`${composeMail(`${trustedAuthservId}; ${passResults}`)}.`)
    client.end()
    await lmtpGateway.close()
    return reply.slice(0, 3)
  }

  test('accepts the verdict of a named peer, for any sender', async () => {
    expect(await deliverByLmtp(['127.0.0.1'])).toBe('250')
    expect(await deliverByLmtp(['127.0.0.1'], ['XFORWARD ADDR=192.0.2.7 HELO=mx.shut.test'])).toBe('250')
    expect(await deliverByLmtp(['127.0.0.1'], ['XFORWARD ADDR=192.0.2.7', 'XFORWARD ADDR=192.0.2.8'])).toBe('250')
  })

  test('ignores the verdict of another peer, for any server', async () => {
    expect(await deliverByLmtp([])).toBe('550')
    expect(await deliverByLmtp(['192.0.2.7'], ['XFORWARD ADDR=192.0.2.7 HELO=mx.shut.test'])).toBe('550')
    expect(await deliverByLmtp(['127.0.0.2'], ['XCLIENT ADDR=127.0.0.2'])).toBe('550')
  })
})
