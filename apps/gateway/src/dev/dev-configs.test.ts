import { expect, test } from 'vitest'
import { fillConfig } from './dev-configs.ts'

test('fillConfig() fills in absent values and never overrides values of the file', () => {
  const file = {
    network: { loopback: { 'mastodon.test': 9001 }, dns: ['127.0.0.1:53'] },
    email: { submit: { host: 'mx.example', port: 25 } },
  }
  const config = fillConfig(file, [
    ['network/dns', ['127.0.0.1:5353']],
    ['network/loopback/mastodon.test', 1],
    ['network/loopback/issuer.test', 2],
    ['email/submit', { host: '127.0.0.1', port: 2 }],
    ['dev', true],
  ])
  expect(config).toEqual({
    network: { loopback: { 'mastodon.test': 9001, 'issuer.test': 2 }, dns: ['127.0.0.1:53'] },
    email: { submit: { host: 'mx.example', port: 25 } },
    dev: true,
  })
})

test('fillConfig() leaves a plain value unchanged where it expects an object', () => {
  expect(fillConfig({ network: 'none' }, [['network/dns', []]])).toEqual({ network: 'none' })
})

test('fillConfig() adds list items whose names the file does not have', () => {
  const ownIssuer = { issuer: 'https://login.example', audience: 'mine' }
  const simulatedIssuers = [
    { issuer: 'https://issuer.test' },
    { issuer: 'https://login.example', audience: 'simulated' },
  ]
  const fill = (issuers: unknown) => fillConfig({ issuers }, [['issuers', simulatedIssuers, 'issuer']])
  expect(fill([ownIssuer])).toEqual({ issuers: [ownIssuer, simulatedIssuers[0]] })
  expect(fill(undefined)).toEqual({ issuers: simulatedIssuers })
  expect(fill('none')).toEqual({ issuers: 'none' })
})
