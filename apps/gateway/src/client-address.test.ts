import { expect, test } from 'vitest'
import { findClientAddress } from './client-address.ts'

const from = (remoteAddress: string) => ({ incoming: { socket: { remoteAddress } } })
const proxies = new Set(['10.0.0.1', '10.0.0.2'])

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
])('findClientAddress(): %s', (_, direct, forwarded, address) => {
  expect(findClientAddress(from(direct), forwarded, proxies)).toBe(address)
})
