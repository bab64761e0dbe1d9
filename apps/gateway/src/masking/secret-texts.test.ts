import { measureGrowth } from '@postern/testing/growth'
import { expect, test } from 'vitest'
import { findSecretTexts, isLikelySecret } from './secret-texts.ts'

const randomToken = 'f83OJ3D2xF1Bg8vub9tL'

test.each([
  'production',
  'application/json',
  'application/vnd.oasis.opendocument.text',
  'multipart/form-data',
  'gpt-4o-mini',
  'claude-sonnet-4-5-20250929',
  'meta-llama/Llama-3.1-70B-Instruct',
  'text-embedding-3-small',
  '2026-01-01T00:00:00Z',
  '/usr/local/share/postern/files',
  'node_modules/@tools/files/index.js',
  'internationalization',
  'getMessagesOfThread',
  'f83oj3d2xf1bg8vu.internal.example:8080',
  '127.0.0.1:11434',
  '+49 30 901820',
  'Größenbeschränkung der Anlagen',
])('"%s" does not look like a secret', text => {
  expect(isLikelySecret(text)).toBe(false)
  expect(findSecretTexts({ text })).toEqual([])
})

test.each([
  randomToken,
  'ab12-cd34-ef56-gh78',
  '550e8400-e29b-41d4-a716-446655440000',
  'sk-proj-7Hq2LmZ0',
  'aBxQzLmPoRtYuIeWsD',
  'XXXXXXXXXXXXXXXXXXXXXXXX',
  '4929123412341234',
])('"%s" looks like a secret', text => {
  expect(isLikelySecret(text)).toBe(true)
})

test.each([
  ['an option', '--token=hunter-two', 'hunter-two'],
  ['a query', 'size=large-enough&api-key=hunter-two', 'hunter-two'],
  ['a sentence', `the key is "${randomToken}", and no other`, randomToken],
  ['the URL of an option', '--store=postgres://me:hunter-two@db.example/house', 'hunter-two'],
  ['JSON', `{"id":"${randomToken}"}`, randomToken],
  ['a user with a password', `me:${randomToken}`, randomToken],
])('the mask recognizes a secret in %s by its form or its name', (_what, text, secret) => {
  expect(
    findSecretTexts({ text }).filter(
      candidate => !candidate.includes(`:${secret}`) && !candidate.includes(`"${secret}`),
    ),
  ).toContain(secret)
})

test('the mask hides a whole value with a secret’s name, line by line and without its scheme', () => {
  expect(findSecretTexts({ text: 'plain words', hasSecretName: true })).toContain('plain words')
  expect(findSecretTexts({ text: 'Bearer spoken-word', hasSecretName: true })).toContain('spoken-word')
  const pem = '-----BEGIN KEY-----\nfirst-line\n-----END KEY-----'
  expect([...new Set(findSecretTexts({ text: pem, hasSecretName: true }))]).toEqual([pem, 'first-line'])
})

test.each([
  ['postgres://db.example/postern', ['postgres://db.example/postern']],
  ['https://x.test', []],
  ['https://x.test/v1/chat', ['https://x.test/v1/chat']],
  ['https://x.test/?format=activity&version=2026-01-01', ['https://x.test/?format=activity&version=2026-01-01']],
  [`https://x.test/services/T1/${randomToken}`, [`https://x.test/services/T1/${randomToken}`, randomToken]],
])('the secret URL %s hides neither a short path nor the name of a database', (text, secrets) => {
  expect([...new Set(findSecretTexts({ text, isWholeUrlSecret: true, isFromReference: true }))]).toEqual(secrets)
})

test.each([
  ['postgres://me:p%2Fss-of-me@db.example/house', ['p%2Fss-of-me', 'p/ss-of-me']],
  ['https://me:pass-of-me@x.test/v1', ['//me:pass-of-me@', 'pass-of-me']],
  ['https://x.test/v1?token=hunter-two&format=activity', ['hunter-two']],
])('the mask finds the secrets of the URL %s', (text, secrets) => {
  expect([...new Set(findSecretTexts({ text }))]).toEqual(secrets)
})

test.each(['words of a prompt, ', 'a=', 'a:', 'a=b&', '?a=https://x.test', 'aB1-', 'a.', 'aB'])(
  'the mask reads a file that repeats "%s" in linear time',
  piece => {
    const valueGrowth = measureGrowth(
      text => findSecretTexts({ text, hasSecretName: true, isWholeUrlSecret: true }),
      piece,
      38912,
    )
    expect(valueGrowth).toBeLessThan(24)
    const urlGrowth = measureGrowth(
      text => findSecretTexts({ text: `https://x.test/${text}`, isWholeUrlSecret: true }),
      piece,
      38912,
    )
    expect(urlGrowth).toBeLessThan(24)
  },
)
