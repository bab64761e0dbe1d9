import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { emailConfigSchema } from '@postern/email'
import { describe, expect, test } from 'vitest'
import { isKeyRecord, judgeDmarc, judgeMx, judgePtr, judgeSpf } from '../../checks/mail-dns.ts'
import type { DoctorDeps } from '../deps.ts'
import { reverseName } from './domain.ts'
import { judgeBareNewline, judgeSizes, judgeXforward } from './postfix.ts'
import { checkListener, checkRelay } from './servers.ts'
import { talkToMailServer } from './smtp-session.ts'

const domain = 'agents.test'

describe('the check of the mail domain’s DNS', () => {
  test.each([
    ['an MX', [{ exchange: 'mx.agents.test', priority: 10 }], false, 'ok'],
    ['only a host', [], true, 'warning'],
    ['nothing', [], false, 'error'],
    ['a null MX', [{ exchange: '', priority: 0 }], true, 'error'],
  ])('judges MX records: %s', (_what, records, hasAddress, severity) => {
    expect(judgeMx(domain, records, { hasAddress })).toMatchObject({ severity })
  })

  test.each([
    ['one record that forbids other hosts', ['v=spf1 mx -all', 'other=1'], 'ok'],
    ['one that redirects', ['v=spf1 redirect=_spf.corp.test'], 'ok'],
    ['one that forbids nothing', ['v=spf1 mx ?all'], 'warning'],
    ['one that allows every host', ['v=spf1 +all'], 'error'],
    ['one that allows every host without a sign', ['v=spf1 mx all'], 'error'],
    ['two', ['v=spf1 mx -all', 'v=spf1 a -all'], 'error'],
    ['none', ['v=spf10'], 'error'],
  ])('judges SPF records: %s', (_what, texts, severity) => {
    expect(judgeSpf(domain, texts)).toMatchObject({ severity })
  })

  test.each([
    ['reject', ['v=DMARC1; p=reject; adkim=s'], 'ok'],
    ['quarantine', ['v=DMARC1;p=quarantine'], 'ok'],
    ['none', ['v=DMARC1; p=none'], 'warning'],
    ['two records', ['v=DMARC1; p=reject', 'v=DMARC1; p=none'], 'error'],
    ['no record', [], 'error'],
  ])('judges DMARC records: %s', (_what, texts, severity) => {
    expect(judgeDmarc(domain, texts)).toMatchObject({ severity })
  })

  test.each([
    ['as it is printed', 'v=DKIM1; k=rsa; p=MIIB+/=', true],
    ['with white space and another order', 'p=MII B+/= ;k=rsa; v=DKIM1', true],
    ['of another key', 'v=DKIM1; k=rsa; p=MIIC+/=', false],
    ['that is revoked', 'v=DKIM1; p=', false],
    ['that is only tested', 'v=DKIM1; t=s:y; p=MIIB+/=', false],
  ])('judges a DKIM record %s', (_what, record, isMatch) => {
    expect(isKeyRecord(record, 'MIIB+/=')).toBe(isMatch)
  })

  test('treats the PTR record only as a hint (EM-7.4)', () => {
    expect(judgePtr('mx.agents.test', '192.0.2.1', ['mx.agents.test.'])).toMatchObject({ severity: 'ok' })
    expect(judgePtr('mx.agents.test', '192.0.2.1', ['host-1.isp.test'])).toMatchObject({
      severity: 'ok',
      message: expect.stringContaining('hint: 192.0.2.1 is called host-1.isp.test'),
    })
    expect(judgePtr('mx.agents.test', '192.0.2.1', [])).toMatchObject({ severity: 'warning' })
  })
})

describe('the check of Postfix in front of the gateway (EM-67)', () => {
  test.each([
    [
      'with its default exclusions',
      { smtpd_forbid_bare_newline: 'normalize', smtpd_forbid_bare_newline_exclusions: '$mynetworks' },
      'warning',
    ],
    ['with none', { smtpd_forbid_bare_newline: 'normalize', smtpd_forbid_bare_newline_exclusions: '' }, 'ok'],
    ['without the protection', { smtpd_forbid_bare_newline: 'no' }, 'warning'],
    ['too old for it', {}, 'warning'],
  ])('judges a Postfix %s', (_what, settings, severity) => {
    const verdict = judgeBareNewline(settings)
    expect(verdict).toMatchObject({ severity })
    if (severity === 'warning') expect(verdict.fix).toMatch(/postconf -e|Update it/)
  })

  const email = emailConfigSchema.parse({ listen: { port: 2525, protocol: 'lmtp' } })

  test('asks for XFORWARD with the client address', () => {
    const trustingEmail = { ...email, listen: email.listen && { ...email.listen, trusted_peers: ['127.0.0.1'] } }
    expect(judgeXforward({ lmtp_send_xforward_command: 'yes' }, trustingEmail)).toMatchObject({ severity: 'ok' })
    expect(judgeXforward({ lmtp_send_xforward_command: 'yes' }, email)).toMatchObject({ severity: 'warning' })
    expect(judgeXforward({ lmtp_send_xforward_command: 'no' }, email)).toMatchObject({
      severity: 'warning',
      fix: expect.stringContaining('postconf -e lmtp_send_xforward_command=yes'),
    })
  })

  test.each([
    ['the same', { settings: { message_size_limit: '26214400' } }, 'ok'],
    ['the default of Postfix', { settings: { message_size_limit: '10240000' } }, 'warning'],
    ['no limit in Postfix', { settings: { message_size_limit: '0' } }, 'warning'],
    ['a smarthost that takes less than we attach', { smarthostMaxBytes: 10_240_000 }, 'warning'],
    ['a smarthost that takes enough', { smarthostMaxBytes: 52_428_800 }, 'ok'],
    ['no known size', {}, 'ok'],
  ])('compares sizes: %s', (_what, sizes, severity) => {
    expect(judgeSizes(sizes, email)).toMatchObject({ severity })
  })
})

test('the check greets an LMTP server with LHLO, and quotes a refusal', async () => {
  const texts: string[] = []
  const server = createServer(socket => {
    socket.write('220 mx\r\n')
    socket.on('data', data => {
      texts.push(data.toString().trim())
      socket.write('550 not you\r\n')
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const talk = talkToMailServer({ host: '127.0.0.1', port, protocol: 'lmtp' }, domain, () => undefined)
  await expect(talk).rejects.toThrow('it says 550 not you')
  expect(texts[0]).toBe('LHLO agents.test')
  server.close()
})

test('doctor contacts no listener of a gateway that receives no mail', async () => {
  const email = emailConfigSchema.parse({ listen: { port: 2525, protocol: 'lmtp' } })
  const config = { roles: ['worker'], dev: true, email }
  const deps = { config, handleHost: domain, isRunning: true, gateway: undefined, network: {} } as unknown as DoctorDeps
  expect(await checkListener(deps)).toMatchObject({ verdict: 'skipped' })
  expect(await checkRelay(deps)).toMatchObject([{ verdict: 'skipped' }])
})

test.each([
  ['203.0.113.5', '5.113.0.203.in-addr.arpa'],
  ['2001:db8::1', `1.${'0.'.repeat(23)}8.b.d.0.1.0.0.2.ip6.arpa`],
])('the check derives the reverse name of %s', (address, name) => {
  expect(reverseName(address)).toBe(name)
})
