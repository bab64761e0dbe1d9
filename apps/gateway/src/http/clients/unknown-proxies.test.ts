import { expect, test } from 'vitest'
import { createUnknownProxies } from './unknown-proxies.ts'

const from = (remoteAddress: string) => ({ incoming: { socket: { remoteAddress } } })
const silent = { debug() {}, info() {}, error() {} }

test('the log names an untrusted private proxy once, with the setting that trusts it', () => {
  const warned: [object, string][] = []
  const log = { ...silent, warn: (fields: object, text: string) => void warned.push([fields, text]) }
  const proxies = createUnknownProxies({ isTrusted: address => address === '10.0.0.1' }, log)
  const forwarded = new Headers({ 'x-forwarded-for': '198.51.100.7' })
  for (const address of ['172.18.0.1', '172.18.0.1', '10.0.0.1', '8.8.8.8'])
    proxies.checkRequest(from(address), forwarded)
  proxies.checkRequest(from('172.18.0.2'), new Headers())
  proxies.checkRequest(from('172.18.0.3'), new Headers({ forwarded: 'for=198.51.100.7' }))
  expect(warned.map(([fields]) => fields)).toEqual([{ proxy: '172.18.0.1' }, { proxy: '172.18.0.3' }])
  expect(warned[0]?.[1]).toContain('network.trusted_proxies')
  expect(proxies.list()).toEqual(['172.18.0.1', '172.18.0.3'])
})
