import { expect, test } from 'vitest'
import { codeLength, formatCode, readCode } from './link-code.ts'

test('a code has fifty bits without ambiguous letters, and the reader accepts it in any typing', () => {
  const code = formatCode(Uint8Array.from({ length: codeLength }, (_, index) => index * 29))
  expect(code).toMatch(/^[2-9A-HJ-NP-Z]{5}-[2-9A-HJ-NP-Z]{5}$/)
  expect(readCode(` ${code.toLowerCase().replace('-', '')} `)).toBe(code)
  expect(readCode(`${code}A`)).toBeUndefined()
  expect(() => formatCode(new Uint8Array(9))).toThrow('a code takes 10 bytes')
})
