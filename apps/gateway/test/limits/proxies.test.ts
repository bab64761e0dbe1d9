import type { DoctorReport } from '@postern/operator'
import { expect, onTestFinished, test } from 'vitest'
import { trustsNoProxy } from '../../src/config/missing-proxy.ts'
import { parseConfig } from '../../src/config/read-config.ts'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway } from '../setup/gateway.ts'

/** Posts like a TLS proxy on this machine. */
function postAs(gateway: TestGateway, client: string): Promise<Response> {
  return fetch(`${gateway.url()}/inbox`, { method: 'POST', headers: { 'x-forwarded-for': client }, body: '{}' })
}

async function openLimited(network: object): Promise<TestGateway> {
  const gateway = await openTestGateway(simulation => ({
    limits: { per_address: 2 },
    network: { ...simulation.network, ...network },
  }))
  onTestFinished(() => gateway.close())
  return gateway
}

test('a stranger behind a TLS proxy on this machine does not use up the rate limit of others', async () => {
  const gateway = await openLimited({})
  const stranger = [1, 2, 3].map(() => postAs(gateway, '198.51.100.66'))
  expect((await Promise.all(stranger)).map(({ status }) => status).sort()).toContain(429)
  expect((await postAs(gateway, '198.51.100.7')).status).not.toBe(429)
  expect((await postAs(gateway, '203.0.113.9, 198.51.100.66')).status).toBe(429)
})

test('doctor reports forwarded requests of a private peer that the operator does not trust', async () => {
  const gateway = await openLimited({ trusted_proxies: ['10.0.0.1'] })
  await postAs(gateway, '198.51.100.66')
  await postAs(gateway, '198.51.100.67')
  const { findings } = await gateway.requestOperator<DoctorReport>('/doctor?only=gateway')
  expect(findings.filter(({ id }) => id === 'gateway.proxies')).toMatchObject([
    {
      verdict: 'warning',
      message: 'forwarded requests come from 127.0.0.1, which is not trusted',
      fix: expect.stringContaining('network.trusted_proxies'),
    },
  ])
})

test.each([
  [{ listen: { host: '0.0.0.0' } }, true],
  [{ listen: { host: '0.0.0.0' }, network: { trusted_proxies: ['172.16.0.0/12'] } }, false],
  [{ network: { trusted_proxies: [] } }, true],
  [{}, false],
])('the gateway distinguishes clients behind the proxy: %j', (settings, isBlind) => {
  const config = parseConfig({
    origin: 'https://agents.example',
    agents: { echo: { name: 'E', description: 'E', use: 'builtin:echo' } },
    ...settings,
  })
  expect(trustsNoProxy(config)).toBe(isBlind)
})
