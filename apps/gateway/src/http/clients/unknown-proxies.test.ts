import { expect, test } from 'vitest'
import { createUnknownProxies } from './unknown-proxies.ts'

const createEnv = (remoteAddress: string) => ({ incoming: { socket: { remoteAddress } } })
const silent = { debug() {}, info() {}, error() {} }

test('the log names an untrusted private proxy once, with the setting that trusts it', () => {
  const warnings: [object, string][] = []
  const log = { ...silent, warn: (fields: object, text: string) => void warnings.push([fields, text]) }
  const proxies = createUnknownProxies({ isTrusted: address => address === '10.0.0.1' }, log)
  const forwarded = new Headers({ 'x-forwarded-for': '198.51.100.7' })
  for (const address of ['172.18.0.1', '172.18.0.1', '10.0.0.1', '8.8.8.8'])
    proxies.checkRequest(createEnv(address), forwarded)
  proxies.checkRequest(createEnv('172.18.0.2'), new Headers())
  proxies.checkRequest(createEnv('172.18.0.3'), new Headers({ forwarded: 'for=198.51.100.7' }))
  expect(warnings.map(([fields]) => fields)).toEqual([{ proxy: '172.18.0.1' }, { proxy: '172.18.0.3' }])
  expect(warnings[0]?.[1]).toContain('network.trusted_proxies')
  expect(proxies.list()).toEqual(['172.18.0.1', '172.18.0.3'])
})
