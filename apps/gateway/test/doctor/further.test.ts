import { makeCertificate } from '@postern/http/test-certificate'
import type { DoctorReport, OpenedGateway } from '@postern/operator'
import { afterAll, describe, expect, test } from 'vitest'
import { examineSmarthost, examineZone } from './cases/mail.ts'
import { examineTls } from './cases/tls.ts'
import { openDoctorBench, ownHost } from './setup/bench.ts'
import { examine, expectFault, expectPass } from './setup/case.ts'
import { mxHost, serveMail } from './setup/mail-server.ts'
import { checkPublicGateway, closePublicGateway, openPublicGateway } from './setup/public-gateway.ts'
import { closeSharedGateway, describeOpened } from './setup/shared-gateway.ts'

// These tests cover second ways in which a check fails or holds.

afterAll(async () => {
  await Promise.all([closeSharedGateway(), closePublicGateway()])
})

describe('the checks of peers’ requests', () => {
  test.each(['channels.inbox', 'channels.calls'])('report by %s that the gateway accepts a forged call', async id => {
    const answers: Readonly<Record<string, { readonly status: number; readonly body: string }>> = {
      'channels.inbox': { status: 202, body: '' },
      'channels.calls': {
        status: 200,
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32001, message: 'none' } }),
      },
    }
    const answer = (url: string) => (/\/inbox$|\/a2a$/.test(url) ? answers[id] : undefined)
    expectFault(await checkPublicGateway(id, { answer }), 'does not refuse a call with a forged proof')
  })

  test('report a cached key set without our key', async () => {
    const answer = (url: string) =>
      url.includes('jwks') ? { status: 200, body: '{"keys":[{"kid":"old"}]}' } : undefined
    expectFault(await checkPublicGateway('discovery.jwks', { answer }), 'does not have our key')
  })

  test('report a proxy that hides its clients', async () => {
    const changeHeaders = ({ 'x-forwarded-for': _, ...headers }: Record<string, unknown>) => headers as never
    expectFault(
      await checkPublicGateway('network.client_address', { changeHeaders }),
      'does not pass on its clients’ addresses',
    )
  })

  test('tell a host without a name from name servers that do not answer', async () => {
    const { dns } = (await openPublicGateway()).gateway.simulation
    const deps = openDoctorBench({ dns: dns.address, settings: { origin: 'https://nobody.test' } })
    expectFault(await examine('network.dns', deps), 'has no address')
    const heal = dns.fail(ownHost, 'servfail')
    expectFault(await examine('network.dns', openDoctorBench({ dns: dns.address })), 'do not answer')
    heal()
  })

  test('report a certificate for another host, and an expired one', async () => {
    expectFault(await examineTls('tls.chain', { certificate: makeCertificate('other.test') }), 'do not trust')
    const now = () => Date.parse('2049-02-01T00:00:00Z')
    expectFault(await examineTls('tls.expiry', { now }), 'has expired 31 days ago')
  })

  test('report a host without TLS only once', async () => {
    const deps = openDoctorBench()
    expectFault(await examine('tls.chain', deps), 'does not speak TLS')
    for (const id of ['tls.expiry', 'tls.versions'])
      expect(await examine(id, deps)).toMatchObject([
        { verdict: 'skipped', message: expect.stringContaining('tls.chain') },
      ])
  })

  test('run once for simultaneous requests', async () => {
    const { gateway } = await openPublicGateway()
    const reports = await Promise.all(
      [1, 2, 3].map(() => gateway.requestOperator<DoctorReport>('/doctor?only=network')),
    )
    expect(new Set(reports.map(({ checked_at, ms }) => `${checked_at} ${ms}`)).size).toBe(1)
  })
})

describe('the checks of mail', () => {
  const secure = { secure: true }

  test('accept a smarthost with implicit TLS by its certificate', async () => {
    expectPass(await examineSmarthost('mail.smarthost_tls', { isSecure: true }, secure), 'valid certificate')
    const certificate = makeCertificate('other.test')
    const findings = await examineSmarthost('mail.smarthost_tls', { isSecure: true, certificate }, secure)
    expectFault(findings, 'the certificate of mx.agents.test:587 is not valid')
  })

  test('report an MX host where nobody answers', async () => {
    const records = { [ownHost]: { MX: [{ priority: 10, exchange: mxHost }] } }
    expectFault(await examineZone('mail.mx_host', records), `${mxHost}:25 is not a mail server`)
  })

  test('report an LMTP listener that does not speak LMTP', async () => {
    const port = await serveMail({ extensions: ['SIZE 1'] })
    const settings = { email: { listen: { port, protocol: 'lmtp' } } }
    const deps = openDoctorBench({ settings, ports: { [`127.0.0.1:${port}`]: port }, deps: { isRunning: true } })
    // LHLO is not a command of SMTP.
    expectFault(await examine('mail.listener', deps), '502')
  })

  test('skip the DNS records of mail when mail is off', async () => {
    const [outcome] = await examine('mail.spf', openDoctorBench())
    expect(outcome).toMatchObject({ verdict: 'skipped', message: expect.stringContaining('mail is off') })
  })

  test('treat two MTA-STS records as none', async () => {
    const zone = { [`_mta-sts.${ownHost}`]: { TXT: ['v=STSv1; id=1;', 'v=STSv1; id=2;'] } }
    expectFault(await examineZone('mail.mta_sts', zone), 'has 2 MTA-STS records')
  })
})

describe('the checks of MCP servers that are programs', () => {
  const mcp = [{ command: 'npx', args: ['-y', 'shop', '--key=hidden'], env: { command: 'none' } }]
  const agent = { use: 'openai', base_url: 'http://127.0.0.1:1/v1', model: 'm' }
  const examineTools = (servers: readonly object[], gateway?: OpenedGateway) => {
    const deps = { gateway, isRunning: gateway !== undefined }
    return examine('agents.tools', openDoctorBench({ settings: { agents: { one: { ...agent, mcp: servers } } }, deps }))
  }

  test('read their list of tools from the open gateway', async () => {
    const says = 'the gateway has started npx of "one", which has listed its tools'
    expect(await examineTools(mcp, await describeOpened())).toEqual([{ subject: 'npx', verdict: 'ok', message: says }])
  })

  test('skip them without an open gateway, while doctor still asks servers with a URL', async () => {
    const outcomes = await examineTools([...mcp, { url: 'http://127.0.0.1:1/mcp' }])
    expect(outcomes.map(({ verdict }) => verdict)).toEqual(['skipped', 'failure'])
    expect(outcomes[0]?.message).toContain('npx of "one" starts with the gateway')
  })
})
