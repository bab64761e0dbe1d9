import { expect, test } from 'vitest'
import { maskSecrets } from './config-print.ts'

test('the print hides secrets, by their names and as passwords of URLs', () => {
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

test.each([
  ['postgres://me:p/s@s@db.example/house', 'postgres://me:(set)@db.example/house'],
  ['postgresql://me@db.example/house', 'postgresql://me@db.example/house'],
  [
    'postgres://db.example/house?user=me&password=p&sslmode=require',
    'postgres://db.example/house?user=me&password=(set)&sslmode=require',
  ],
  ['https://token@hooks.example/x', 'https://(set)@hooks.example/x'],
  ['https://me:pass@hooks.example/x', 'https://(set)@hooks.example/x'],
  [
    'https://hooks.example/x?api_key=k&size=2&X-Amz-Signature=s',
    'https://hooks.example/x?api_key=(set)&size=2&X-Amz-Signature=(set)',
  ],
  ['SMTPS://me:pass@mail.example', 'SMTPS://(set)@mail.example'],
  ['https://agents.example/@me', 'https://agents.example/@me'],
  ['no URL?token=x', 'no URL?token=x'],
])('the print hides the secrets of the URL %s', (url, printed) => {
  expect(maskSecrets({ url, urls: [url] })).toEqual({ url: printed, urls: [printed] })
})

test('the print hides lists with the name of a secret, and values of headers', () => {
  expect(maskSecrets({ api_keys: ['a', 'b'], headers: { Authorization: 'Bearer x', accept: 'y' } })).toEqual({
    api_keys: ['(set)', '(set)'],
    headers: { Authorization: '(set)', accept: '(set)' },
  })
})
