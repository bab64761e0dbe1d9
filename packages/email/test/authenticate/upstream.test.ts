import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { MailGateway } from '../setup/gateway.ts'
import { mailDomain, openMailGateway } from '../setup/gateway.ts'
import { keyRecord, makeDkimKey, signText } from '../setup/sign.ts'
import { openSmtpClient } from '../setup/smtp-client.ts'

// A mail server in front of the gateway has already judged these mails (RFC 8601; EM-2.2).

const key = makeDkimKey(2048)
const pinned = 'mx.front.test'
const passed = `dkim=pass header.d=shut.test; spf=fail; dmarc=pass header.from=shut.test`
let counter = 0
let gateway: MailGateway
let looseGateway: MailGateway
let plainGateway: MailGateway

beforeAll(async () => {
  const upstreams = [{ authserv_id: pinned, endpoint: 'inbound' as const }]
  gateway = await openMailGateway({ config: { trust: { upstreams } } })
  looseGateway = await openMailGateway({ config: { trust: { upstreams, spf_only: true } } })
  plainGateway = await openMailGateway()
  for (const { simulation } of [gateway, looseGateway, plainGateway]) {
    simulation.dns.set('_dmarc.shut.test', { TXT: ['v=DMARC1; p=reject'] })
    simulation.dns.set('s1._domainkey.shut.test', { TXT: [keyRecord(key)] })
  }
})
afterAll(() => Promise.all([gateway.close(), looseGateway.close(), plainGateway.close()]))

/** Writes an unsigned mail under `p=reject`, which only a trusted verdict can save. */
function write(...extraFields: readonly string[]): string {
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

const received = 'Received: from a.test by b.test; Sat, 21 Nov 2026 10:00:00 +0000'

describe('a server named for the endpoint', () => {
  test.each<[string, readonly string[]]>([
    ['that passed it', [`${pinned}; ${passed}`]],
    ['that passed it, under its own Received', [received, `${pinned}; ${passed}`]],
    ['that does not say by what', [`${pinned}; dmarc=pass header.from=shut.test`]],
    [
      'whose word stands above others',
      [`${pinned}; ${passed}`, `${pinned}; dmarc=fail header.from=shut.test`, received],
    ],
  ])('proves the author if %s', async (_what, extraFields) => {
    const message = write(...extraFields)
    expect((await gateway.post(message)).status).toBe(200)
    const { message: taken, proofs } = await gateway.latest()
    expect(taken.sender).toMatchObject({
      verified: true,
      auth_method: 'email-dmarc',
      key_id: `authserv:${pinned}`,
      identities: [{ subject: 'mailto:ann@shut.test', issuer: `authserv:${pinned}`, assurance: 'domain' }],
    })
    expect(proofs.at(-1)).toMatchObject({
      kind: 'authentication-results',
      verdict: 'pass',
      key_id: `authserv:${pinned}`,
      domain: 'shut.test',
    })
  })

  test.each<[string, readonly string[]]>([
    ['of another name', [`mx.other.test; ${passed}`]],
    ['with the name in other letters', [`MX.front.test; ${passed}`]],
    ['with the name in quotes', [`"${pinned}"; ${passed}`]],
    ['with the name behind a comment', [`(x) ${pinned}; ${passed}`]],
    ['with the name before a comment', [`${pinned} (x); ${passed}`]],
    ['of a longer name', [`${pinned}.evil.test; ${passed}`]],
    ['under another one', [`mx.other.test; dmarc=none`, `${pinned}; ${passed}`]],
    ['under two Received', [received, received, `${pinned}; ${passed}`]],
    ['that failed it', [`${pinned}; dmarc=fail header.from=shut.test`]],
    ['that passed it after it failed it', [`${pinned}; dmarc=fail header.from=shut.test`, `${pinned}; ${passed}`]],
    ['that passed somebody else', [`${pinned}; dmarc=pass header.from=open.test`]],
    ['that passed nobody by name', [`${pinned}; dmarc=pass`]],
    ['that says two things', [`${pinned}; dmarc=fail header.from=shut.test; ${passed}`]],
    ['that says nothing of DMARC', [`${pinned}; dkim=pass header.d=shut.test`]],
    ['that passed it in a comment', [`${pinned}; none (${passed})`]],
    ['that passed it for a reason', [`${pinned}; dmarc=fail reason="x; ${passed}" header.from=shut.test`]],
    ['that passed it by SPF alone', [`${pinned}; spf=pass smtp.mailfrom=shut.test; dmarc=pass header.from=shut.test`]],
    [
      'that passed it by SPF beside a signature of another',
      [`${pinned}; spf=pass; dkim=pass header.d=evil.test; dmarc=pass header.from=shut.test`],
    ],
    ['that the gateway cannot read', [`${pinned}; dmarc=pass (header.from=shut.test`]],
    ['in a longer field than any server writes', [`${pinned}; ${passed}; x=none (${'a '.repeat(9_000)})`]],
    ['in another field', [`X-Authentication-Results: ${pinned}; ${passed}`]],
  ])('proves nothing if %s', async (_what, extraFields) => {
    expect(await gateway.post(write(...extraFields))).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  })

  test('counts by SPF if that is enough', async () => {
    const message = write(`${pinned}; spf=pass smtp.mailfrom=shut.test; dmarc=pass header.from=shut.test`)
    expect((await looseGateway.post(message)).status).toBe(200)
    expect((await looseGateway.latest()).message.sender.verified).toBe(true)
  })

  test('neither helps nor harms an author with their own proof', async () => {
    const signedMail = signText(write(), { domain: 'shut.test', key, fields: ['from', 'to', 'subject'] })
    const message = `Authentication-Results: ${pinned}; dmarc=fail header.from=shut.test\r\n${signedMail}`
    expect((await gateway.post(message)).status).toBe(200)
    expect((await gateway.latest()).message.sender).toMatchObject({ verified: true, key_id: 'd=shut.test/s=s1' })
  })

  test('counts only at its own endpoint, and only by its configured name', async () => {
    expect((await plainGateway.post(write(`${pinned}; ${passed}`))).status).toBe(403)
    const otherGateway = await openMailGateway({
      config: { trust: { upstreams: [{ authserv_id: pinned, endpoint: 'listen' }] } },
    })
    otherGateway.simulation.dns.set('_dmarc.shut.test', { TXT: ['v=DMARC1; p=reject'] })
    expect((await otherGateway.post(write(`${pinned}; ${passed}`))).status).toBe(403)
    await otherGateway.close()
  })
})

describe('a forged verdict of a server (EM-23)', () => {
  test('is hidden from agents and operators', async () => {
    const message = write(
      `${pinned}; ${passed}`,
      `mx.evil.test;\r\n dmarc=pass header.from=corp.test`,
      received,
      `${pinned}; dmarc=pass header.from=bank.test`,
    )
    expect((await gateway.post(message)).status).toBe(200)
    const { raw } = (await gateway.latest()).message
    expect(raw).toBe(
      message
        .replace(/Authentication-Results: mx\.evil\.test;\r\n .*\r\n/, '')
        .replace(/Authentication-Results: mx\.front\.test; dmarc=pass header\.from=bank\.test\r\n/, ''),
    )
    expect(raw).toContain(`Authentication-Results: ${pinned}; ${passed}`)
  })

  test('does not count without a configured server', async () => {
    const message = write(`${pinned}; ${passed}`, `${mailDomain}; ${passed}`).replace('ann@shut.test', 'ann@open.test')
    expect((await plainGateway.post(message)).status).toBe(200)
    expect((await plainGateway.latest()).message.raw).not.toMatch(/authentication-results/i)
  })
})

describe('over LMTP', () => {
  const bring = async (trusted_peers: readonly string[], first: readonly string[] = []) => {
    const upstreams = [{ authserv_id: pinned, endpoint: 'listen' as const }]
    const config = {
      listen: { port: 0, protocol: 'lmtp' as const, trusted_peers: [...trusted_peers] },
      trust: { upstreams },
    }
    const at = await openMailGateway({ config })
    at.simulation.dns.set('_dmarc.shut.test', { TXT: ['v=DMARC1; p=reject'] })
    const client = await openSmtpClient(at.listening?.port ?? 0)
    await client.read()
    const lines = ['LHLO mx.test', ...first, 'MAIL FROM:<ann@shut.test>', `RCPT TO:<echo@${mailDomain}>`, 'DATA']
    for (const line of lines) await client.say(line)
    const reply = await client.say(`${write(`${pinned}; ${passed}`)}.`)
    client.end()
    await at.close()
    return reply.slice(0, 3)
  }

  test('accepts the verdict of a named peer, for any sender', async () => {
    expect(await bring(['127.0.0.1'])).toBe('250')
    expect(await bring(['127.0.0.1'], ['XFORWARD ADDR=192.0.2.7 HELO=mx.shut.test'])).toBe('250')
    expect(await bring(['127.0.0.1'], ['XFORWARD ADDR=192.0.2.7', 'XFORWARD ADDR=192.0.2.8'])).toBe('250')
  })

  test('ignores the verdict of another peer, for any server', async () => {
    expect(await bring([])).toBe('550')
    expect(await bring(['192.0.2.7'], ['XFORWARD ADDR=192.0.2.7 HELO=mx.shut.test'])).toBe('550')
    expect(await bring(['127.0.0.2'], ['XCLIENT ADDR=127.0.0.2'])).toBe('550')
  })
})
