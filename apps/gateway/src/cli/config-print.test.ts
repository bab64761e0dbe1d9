import { expect, test } from 'vitest'
import { maskSecrets } from './config-print.ts'

test('what is secret is not printed, neither by its name nor as the password of a URL', () => {
  const config = {
    operator_token: 'x',
    store: 'postgres://me:p%2Fss@db.example:5432/house?sslmode=require',
    network: { dns: ['127.0.0.1:53'], origin: 'https://agents.example/@me:you@there' },
  }
  expect(maskSecrets(config)).toEqual({
    ...config,
    operator_token: '(set)',
    store: 'postgres://me:(set)@db.example:5432/house?sslmode=require',
  })
})
