import { expect, test } from 'vitest'
import { readOwnerKey } from './owner-key.ts'

const key = 'web:["https://id.test","ann"]'

test.each([key, 'web:["https://id.test", "ann"]', ' web: [ "https://id.test",\n"\\u0061nn" ] '])(
  'readOwnerKey() reads %j as what it names',
  text => {
    expect(readOwnerKey(text)).toBe(key)
  },
)

test.each([
  'web:["ann"]',
  'web:["https://id.test","ann","x"]',
  'web:["https://id.test",""]',
  'web:[1,2]',
  'web:[broken]',
  'a2a:["x","y"]',
  '',
])('readOwnerKey() takes %j for nobody’s', text => {
  expect(readOwnerKey(text)).toBeUndefined()
})
