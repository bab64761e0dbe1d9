import { expect, onTestFinished, test } from 'vitest'
import type { ConfiguredClient } from '../../src/commands/client.ts'
import { checkProxies } from '../../src/commands/doctor/proxies.ts'
import { parseConfig } from '../../src/config/read-config.ts'
import type { TestGateway } from '../setup/gateway.ts'
import { openTestGateway } from '../setup/gateway.ts'

/** What a TLS proxy on this machine passes on. */
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

test('a stranger behind a TLS proxy on this machine uses up nobody else’s rate', async () => {
  const gateway = await openLimited({})
  const stranger = [1, 2, 3].map(() => postAs(gateway, '198.51.100.66'))
  expect((await Promise.all(stranger)).map(({ status }) => status).sort()).toContain(429)
  expect((await postAs(gateway, '198.51.100.7')).status).not.toBe(429)
  expect((await postAs(gateway, '203.0.113.9, 198.51.100.66')).status).toBe(429)
})

test('forwarded requests of a private peer that is not trusted are reported by doctor', async () => {
  const gateway = await openLimited({ trusted_proxies: ['10.0.0.1'] })
  await postAs(gateway, '198.51.100.66')
  await postAs(gateway, '198.51.100.67')
  const client = {
    config: parseConfig({
      origin: 'https://agents.example',
      agents: { echo: { name: 'E', description: 'E', use: 'builtin:echo' } },
    }),
    call: ({ path }: { readonly path: string }) => gateway.ask(path),
  } as unknown as ConfiguredClient
  expect(await checkProxies(client)).toEqual({
    severity: 'warning',
    message: 'forwarded requests come from 127.0.0.1, which is not trusted',
    fix: expect.stringContaining('network.trusted_proxies'),
  })
})

test.each([
  [{ listen: { host: '0.0.0.0' } }, 'warning'],
  [{ listen: { host: '0.0.0.0' }, network: { trusted_proxies: ['172.16.0.0/12'] } }, 'ok'],
  [{ network: { trusted_proxies: [] } }, 'warning'],
  [{}, 'ok'],
])('doctor says whether clients behind the proxy are told apart: %j', async (settings, severity) => {
  const config = parseConfig({
    origin: 'https://agents.example',
    agents: { echo: { name: 'E', description: 'E', use: 'builtin:echo' } },
    ...settings,
  })
  const client = { config, call: async () => ({ unknown: [] }) } as unknown as ConfiguredClient
  expect((await checkProxies(client)).severity).toBe(severity)
})
