import { expect, test } from 'vitest'
import { parseConfig } from '../../config/read-config.ts'
import { createTrustedProxies, findClientAddress } from './trusted-proxies.ts'

const from = (remoteAddress: string) => ({ incoming: { socket: { remoteAddress } } })

function trusting(trusted_proxies: readonly string[] | undefined, host = '127.0.0.1') {
  const agents = { echo: { name: 'Echo', description: 'Echoes', use: 'builtin:echo' } }
  return createTrustedProxies(
    parseConfig({ origin: 'https://agents.example', agents, listen: { host }, network: { trusted_proxies } }),
  )
}

const proxies = trusting(['10.0.0.1', '10.0.0.2', 'fd00::/8'])

test.each([
  ['nobody who is not a proxy is believed', '192.0.2.7', '198.51.100.1', '192.0.2.7'],
  ['a proxy names its client', '10.0.0.1', '198.51.100.1', '198.51.100.1'],
  [
    'what a client claims before the proxies is passed over',
    '10.0.0.1',
    '1.2.3.4, 198.51.100.1, 10.0.0.2',
    '198.51.100.1',
  ],
  ['a proxy that says nothing speaks for itself', '10.0.0.1', undefined, '10.0.0.1'],
  ['only proxies in the chain', '10.0.0.1', '10.0.0.2', '10.0.0.2'],
  ['a port is no part of the address', '10.0.0.1', '198.51.100.1:4711', '198.51.100.1'],
  ['nor are brackets', '10.0.0.1', '[2001:db8::7]:4711', '2001:db8::7'],
  ['a network of proxies', 'fd00::12', '198.51.100.1', '198.51.100.1'],
  ['a mapped address in the chain', '10.0.0.1', '198.51.100.1, ::ffff:10.0.0.2', '198.51.100.1'],
  ['what is no address hides nobody behind it', '10.0.0.1', '198.51.100.1, unknown', '10.0.0.1'],
  ['an empty hop hides nobody behind it', '10.0.0.1', '198.51.100.1,', '10.0.0.1'],
])('findClientAddress(): %s', (_, direct, forwarded, address) => {
  expect(findClientAddress(from(direct), forwarded, proxies)).toBe(address)
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
  expect(trusting(trusted, host).isTrusted(address)).toBe(isTrusted)
})
