import { expect, test } from 'vitest'
import { parseConfig } from '../../config/read-config.ts'
import { createTrustedProxies, findClientAddress } from './trusted-proxies.ts'

const createEnv = (remoteAddress: string) => ({ incoming: { socket: { remoteAddress } } })

function createProxies(trusted_proxies: readonly string[] | undefined, host = '127.0.0.1') {
  const agents = { echo: { name: 'Echo', description: 'Echoes', use: 'builtin:echo' } }
  return createTrustedProxies(
    parseConfig({ origin: 'https://agents.example', agents, listen: { host }, network: { trusted_proxies } }),
  )
}

const proxies = createProxies(['10.0.0.1', '10.0.0.2', 'fd00::/8'])

test.each([
  ['ignores the field of a client that is not a proxy', '192.0.2.7', '198.51.100.1', '192.0.2.7'],
  ['reads the client from the field of a proxy', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
  [
    'ignores hops that a client claims before the proxies',
    '10.0.0.1',
    '1.2.3.4, 198.51.100.1, 10.0.0.2',
    '198.51.100.1',
  ],
  ['returns the proxy if it names no client', '10.0.0.1', undefined, '10.0.0.1'],
  ['returns the last proxy if the chain contains only proxies', '10.0.0.1', '10.0.0.2', '10.0.0.2'],
  ['removes the port', '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
  ['removes brackets', '10.0.0.1', '[2001:db8::7]:4711', '2001:db8::7'],
  ['trusts a network of proxies', 'fd00::12', '198.51.100.1', '198.51.100.1'],
  ['recognizes a mapped address in the chain', '10.0.0.1', '198.51.100.1, ::ffff:10.0.0.2', '198.51.100.1'],
  ['returns the proxy if the last hop is not an address', '10.0.0.1', '198.51.100.1, unknown', '10.0.0.1'],
  ['returns the proxy if the last hop is empty', '10.0.0.1', '198.51.100.1,', '10.0.0.1'],
])('findClientAddress() %s', (_, direct, forwarded, address) => {
  expect(findClientAddress(createEnv(direct), forwarded, proxies)).toBe(address)
})

test.each([
  ['127.0.0.1', undefined, '127.0.0.1', true],
  ['127.0.0.1', undefined, '127.8.8.8', true],
  ['::1', undefined, '::1', true],
  ['localhost', undefined, '::1', true],
  ['127.0.0.1', undefined, '10.0.0.1', false],
  ['0.0.0.0', undefined, '127.0.0.1', false],
  ['::', undefined, '::1', false],
  ['127.0.0.1', [], '127.0.0.1', false],
  ['0.0.0.0', ['172.16.0.0/12'], '172.18.0.1', true],
  ['0.0.0.0', ['172.16.0.0/12'], '172.32.0.1', false],
])('a gateway that listens on %s with trusted_proxies %j trusts %s: %s', (host, trusted, address, isTrusted) => {
  expect(createProxies(trusted, host).isTrusted(address)).toBe(isTrusted)
})
