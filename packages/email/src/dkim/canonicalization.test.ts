import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { bodyCanonicalizers, emptySignatureTag, fieldCanonicalizers } from './canonicalization.ts'

const canonicalizeBody = (form: 'simple' | 'relaxed', text: string) =>
  bodyCanonicalizers[form](Buffer.from(text, 'latin1')).toString('latin1')

test('the example of RFC 6376 §3.4.5 gives the canonical forms in the RFC, simple and relaxed', () => {
  const fields = ['A: X', 'B : Y\t\r\n\tZ  ']
  const body = ' C \r\nD \t E\r\n\r\n\r\n'
  expect(fields.map(fieldCanonicalizers.relaxed)).toEqual(['a:X', 'b:Y Z'])
  expect(fields.map(fieldCanonicalizers.simple)).toEqual(fields)
  expect(canonicalizeBody('relaxed', body)).toBe(' C\r\nD E\r\n')
  expect(canonicalizeBody('simple', body)).toBe(' C \r\nD \t E\r\n')
})

test('an empty body has the hashes of RFC 6376 §3.4.3 and §3.4.4', () => {
  const hash = (form: 'simple' | 'relaxed') => createHash('sha256').update(canonicalizeBody(form, '')).digest('base64')
  expect(hash('simple')).toBe('frcCV1k9oG9oKj3dpUqdJg1PxRT2RSN/XKdLCPjaYaY=')
  expect(hash('relaxed')).toBe('47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=')
})

test.each([
  ['no last line end', 'a', 'a\r\n', 'a\r\n'],
  ['empty lines at the end', 'a\r\n\r\n\r\n', 'a\r\n', 'a\r\n'],
  ['lines of blanks at the end', 'a\r\n \r\n\t\r\n', 'a\r\n \r\n\t\r\n', 'a\r\n'],
  ['blanks before a line end and at the end', 'a \r\nb\t', 'a \r\nb\t\r\n', 'a\r\nb\r\n'],
  ['nothing but blanks', ' \t', ' \t\r\n', ''],
  ['blanks before a CR alone, which is text', 'a \rb \r\r\n', 'a \rb \r\r\n', 'a \rb \r\r\n'],
  ['one tab between words', 'a\tb\r\n', 'a\tb\r\n', 'a b\r\n'],
  ['other blanks, which are text', 'a\v\f\xa0\r\n', 'a\v\f\xa0\r\n', 'a\v\f\xa0\r\n'],
])('a body with %s', (_what, body, simple, relaxed) => {
  expect([canonicalizeBody('simple', body), canonicalizeBody('relaxed', body)]).toEqual([simple, relaxed])
})

test.each([
  ['Subject:', 'subject:'],
  ['Subject: \t ', 'subject:'],
  ['SUBJECT\t : \r\n  a\r\n\tb ', 'subject:a b'],
  ['X-A: gr\xc3\xbc\xc3\x9fe\xa0', 'x-a:gr\xc3\xbc\xc3\x9fe\xa0'],
  ['X-A: a: b', 'x-a:a: b'],
])('the field %j relaxes to %j', (field, relaxed) => {
  expect(fieldCanonicalizers.relaxed(field)).toBe(relaxed)
})

test.each([
  ['a:v=1; b=AB CD', 'a:v=1; b='],
  ['a:b = AB ;v=1', 'a:b =;v=1'],
  ['a:v=1; bh=x; b=AB; t=1', 'a:v=1; bh=x; b=; t=1'],
  ['a:z=b=AB|c; B=AB;\r\n b=AB;', 'a:z=b=AB|c; B=AB;\r\n b=;'],
])('the canonical form of the field %j omits only the value of b=', (field, expectedField) => {
  expect(emptySignatureTag(field)).toBe(expectedField)
})
