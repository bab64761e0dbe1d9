import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { networkOf, peerAddress } from './peer-address.ts'

test('peerAddress() returns a request’s address, as IPv4 also from a dual-stack socket', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const server = createServer((incoming, outgoing) => {
    resolve(peerAddress({ incoming, outgoing }))
    outgoing.end()
  })
  await new Promise<void>(done => server.listen(0, done))
  await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  expect(await promise).toBe('127.0.0.1')
  server.close()
})

test.each([undefined, null, {}, { incoming: undefined }, { incoming: { socket: {} } }])(
  'peerAddress() returns nothing for %j',
  env => {
    expect(peerAddress(env)).toBe('')
  },
)

test('peerAddress() returns an IPv6 address unchanged', () => {
  expect(peerAddress({ incoming: { socket: { remoteAddress: '::1' } } })).toBe('::1')
})

test('peerAddress() returns the client address that the program found behind its proxies', () => {
  const incoming = { socket: { remoteAddress: '10.0.0.1' } }
  expect(peerAddress({ incoming, clientAddress: '192.0.2.7' })).toBe('192.0.2.7')
})

test.each([
  ['192.0.2.7', '192.0.2.7'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:0DB8:1:2::9', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['64:ff9b::192.0.2.7', '64:ff9b:0:0::/64'],
  ['', ''],
])('networkOf("%s") returns %s', (address, network) => {
  expect(networkOf(address)).toBe(network)
})
