import { createSocket } from 'node:dgram'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { describe, expect, test } from 'vitest'
import { isKeyRecord, judgeDmarc, judgeMx, judgePtr, judgeSpf } from '../../../checks/mail-dns.ts'
import { parseConfig } from '../../../config/read-config.ts'
import type { ConfiguredClient as OperatorClient } from '../../client.ts'
import { judgeSecret } from './checks.ts'
import { askClock, judgeClock } from './clock.ts'
import { checkMailLoop } from './loop.ts'
import { judgeBareNewline, judgeSizes, judgeXforward } from './postfix.ts'
import { readGreeting } from './smtp-greeting.ts'

const domain = 'agents.test'

describe('DNS of the mail domain', () => {
  test.each([
    ['an MX', [{ exchange: 'mx.agents.test', priority: 10 }], false, 'ok'],
    ['only a host', [], true, 'warning'],
    ['nothing', [], false, 'error'],
    ['a null MX', [{ exchange: '', priority: 0 }], true, 'error'],
  ])('%s', (_what, records, hasAddress, severity) => {
    expect(judgeMx(domain, records, hasAddress)).toMatchObject({ severity })
  })

  test.each([
    ['one record that ends', ['v=spf1 mx -all', 'other=1'], 'ok'],
    ['one that goes on elsewhere', ['v=spf1 redirect=_spf.corp.test'], 'ok'],
    ['one without an end', ['v=spf1 mx ?all'], 'warning'],
    ['one that lets everybody in', ['v=spf1 +all'], 'error'],
    ['one that lets everybody in without saying so', ['v=spf1 mx all'], 'error'],
    ['two', ['v=spf1 mx -all', 'v=spf1 a -all'], 'error'],
    ['none', ['v=spf10'], 'error'],
  ])('SPF: %s', (_what, texts, severity) => {
    expect(judgeSpf(domain, texts)).toMatchObject({ severity })
  })

  test.each([
    ['reject', ['v=DMARC1; p=reject; adkim=s'], 'ok'],
    ['quarantine', ['v=DMARC1;p=quarantine'], 'ok'],
    ['none', ['v=DMARC1; p=none'], 'warning'],
    ['two records', ['v=DMARC1; p=reject', 'v=DMARC1; p=none'], 'error'],
    ['no record', [], 'error'],
  ])('DMARC: %s', (_what, texts, severity) => {
    expect(judgeDmarc(domain, texts)).toMatchObject({ severity })
  })

  test.each([
    ['as it is printed', 'v=DKIM1; k=rsa; p=MIIB+/=', true],
    ['with white space and another order', 'p=MII B+/= ;k=rsa; v=DKIM1', true],
    ['of another key', 'v=DKIM1; k=rsa; p=MIIC+/=', false],
    ['that is revoked', 'v=DKIM1; p=', false],
    ['that is only tested', 'v=DKIM1; t=s:y; p=MIIB+/=', false],
  ])('a DKIM record %s', (_what, record, isOurs) => {
    expect(isKeyRecord(record, 'MIIB+/=')).toBe(isOurs)
  })

  test('the PTR record is only a hint (EM-7.4)', () => {
    expect(judgePtr('mx.agents.test', '192.0.2.1', ['mx.agents.test.'])).toMatchObject({ severity: 'ok' })
    expect(judgePtr('mx.agents.test', '192.0.2.1', ['host-1.isp.test'])).toMatchObject({
      severity: 'ok',
      message: expect.stringContaining('hint: 192.0.2.1 is called host-1.isp.test'),
    })
  })
})

describe('EM-67: Postfix in front of the gateway', () => {
  test.each([
    [
      'with its default exclusions',
      { smtpd_forbid_bare_newline: 'normalize', smtpd_forbid_bare_newline_exclusions: '$mynetworks' },
      'warning',
    ],
    ['with none', { smtpd_forbid_bare_newline: 'normalize', smtpd_forbid_bare_newline_exclusions: '' }, 'ok'],
    ['without the protection', { smtpd_forbid_bare_newline: 'no' }, 'warning'],
    ['too old for it', {}, 'warning'],
  ])('%s', (_what, settings, severity) => {
    const verdict = judgeBareNewline(settings)
    expect(verdict).toMatchObject({ severity })
    if (severity === 'warning') expect(verdict.fix).toMatch(/postconf -e|Update it/)
  })

  const { email } = parseConfig({
    ...{ origin: 'https://agents.test', agents: { echo: { use: 'builtin:echo' } } },
    email: { listen: { port: 2525, protocol: 'lmtp' } },
  })

  test('it should say who brought a mail', () => {
    const trusting = { ...email, listen: email.listen && { ...email.listen, trusted_peers: ['127.0.0.1'] } }
    expect(judgeXforward({ lmtp_send_xforward_command: 'yes' }, trusting)).toMatchObject({ severity: 'ok' })
    expect(judgeXforward({ lmtp_send_xforward_command: 'yes' }, email)).toMatchObject({ severity: 'warning' })
    expect(judgeXforward({ lmtp_send_xforward_command: 'no' }, email)).toMatchObject({
      severity: 'warning',
      fix: expect.stringContaining('postconf -e lmtp_send_xforward_command=yes'),
    })
  })

  test.each([
    ['the same', { settings: { message_size_limit: '26214400' } }, 'ok'],
    ['the default of Postfix', { settings: { message_size_limit: '10240000' } }, 'warning'],
    ['no limit before ours', { settings: { message_size_limit: '0' } }, 'warning'],
    ['a smarthost that takes less than we attach', { smarthost: 10_240_000 }, 'warning'],
    ['a smarthost that takes enough', { smarthost: 52_428_800 }, 'ok'],
    ['nothing known', {}, 'ok'],
  ])('sizes: %s', (_what, sizes, severity) => {
    expect(judgeSizes(sizes, email)).toMatchObject({ severity })
  })
})

test('a short secret of the intake can be guessed', () => {
  expect(judgeSecret('short')).toMatchObject({ severity: 'warning' })
  expect(judgeSecret('x'.repeat(24))).toMatchObject({ severity: 'ok' })
  expect(judgeSecret(undefined)).toMatchObject({ severity: 'ok' })
})

describe('what a mail server says', () => {
  async function serve(lines: readonly string[], run: (port: number, heard: string[]) => Promise<void>) {
    const heard: string[] = []
    const server = createServer(socket => {
      const [banner, ...answers] = lines
      socket.write(`${banner}\r\n`)
      socket.on('data', data => {
        heard.push(data.toString().trim())
        const answer = answers.shift()
        if (answer) socket.write(answer)
      })
    })
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    await run((server.address() as AddressInfo).port, heard).finally(() => server.close())
  }

  test('its name, its extensions and their values', () =>
    serve(['220 mx.test ESMTP', '250-mx.test\r\n250-SIZE 10240000\r\n250 8BITMIME\r\n'], async (port, heard) => {
      const { banner, extensions } = await readGreeting({ host: '127.0.0.1', port }, domain)
      expect(banner).toBe('mx.test ESMTP')
      expect([...extensions]).toEqual([
        ['SIZE', '10240000'],
        ['8BITMIME', ''],
      ])
      expect(heard[0]).toBe('EHLO agents.test')
    }))

  test('LMTP is greeted as such; who refuses is quoted', () =>
    serve(['220 mx', '550 not you\r\n'], async (port, heard) => {
      const greeting = readGreeting({ host: '127.0.0.1', port, protocol: 'lmtp' }, domain)
      await expect(greeting).rejects.toThrow('it says 550 not you')
      expect(heard[0]).toBe('LHLO agents.test')
    }))

  test('nobody there is an error', async () => {
    await expect(readGreeting({ host: '127.0.0.1', port: 1 }, domain)).rejects.toThrow('ECONNREFUSED')
  })
})

describe('the clock', () => {
  test('is compared with a time server', async () => {
    const server = createSocket('udp4')
    server.on('message', (_, peer) => {
      const answer = Buffer.alloc(48)
      answer.writeUInt32BE(2_208_988_800 + 1_000_000, 40)
      server.send(answer, peer.port, peer.address)
    })
    await new Promise<void>(resolve => server.bind(0, '127.0.0.1', resolve))
    expect(await askClock('127.0.0.1', () => 1_000_090_000, server.address().port)).toBe(90_000)
    server.close()
  })

  test('a minute is forgiven', () => {
    expect(judgeClock(-59_000)).toMatchObject({ severity: 'ok' })
    expect(judgeClock(90_000)).toMatchObject({ severity: 'error', message: expect.stringContaining('90.0 s fast') })
    expect(judgeClock(undefined)).toMatchObject({ severity: 'warning' })
  })
})

describe('a mail to ourselves', () => {
  const times = { patienceMs: 30, pauseMs: 10 }
  const client = (record?: object): OperatorClient =>
    ({
      isRunning: true,
      config: { email: { submit: { host: 'localhost', port: 25 } } },
      async call({ id }: { readonly id: string }) {
        if (id === 'probeChannel') return { id: 'probe@agents.test' }
        if (!record) throw new Error('not there')
        return record
      },
    }) as unknown as OperatorClient

  test.each([
    [
      'comes back and is believed',
      { message: { sender: { verified: true, auth_method: 'email-dmarc' } }, proofs: [] },
      'ok',
    ],
    [
      'comes back unproven',
      { message: { sender: { verified: false } }, proofs: [{ kind: 'dkim', verdict: 'fail' }] },
      'error',
    ],
    ['does not come back', undefined, 'error'],
  ])('%s', async (_what, record, severity) => {
    expect(await checkMailLoop(client(record), times)).toMatchObject({ severity })
  })
})
