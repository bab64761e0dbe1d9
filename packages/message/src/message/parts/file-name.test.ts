import { expect, test } from 'vitest'
import type { Part } from '../part.ts'
import { safeFileName, withSafeFileNames } from './file-name.ts'

test.each([
  ['.. a.txt . ', 'a.txt'],
  ['../notes.txt', 'notes.txt'],
  ['../../etc/passwd', 'passwd'],
  ['C:\\Users\\ann\\notes.txt', 'notes.txt'],
  ['C:notes.txt', 'C_notes.txt'],
  ['notes.txt:stream', 'notes.txt_stream'],
  ['a:b?.txt', 'a_b_.txt'],
  [' . ', 'attachment-1'],
  ['\u3164\u200b', 'attachment-1'],
  ['cod\u202egpj.exe', 'codgpj.exe'],
  ['a\u0000b\u001b[2J\n.txt', 'ab[2J.txt'],
  ['half\ud83d.txt', 'half\ufffd.txt'],
  ['NUL.txt', '_NUL.txt'],
  ['nul', '_nul'],
  ['con .tar.gz', '_con .tar.gz'],
  ['CONIN$', '_CONIN$'],
  ['conout$.log', '_conout$.log'],
  ['COM¹.txt', '_COM¹.txt'],
  ['lpt9', '_lpt9'],
  ['console.txt', 'console.txt'],
  ['Überblick Ann’s 報告 (2).pdf', 'Überblick Ann’s 報告 (2).pdf'],
])('safeFileName() turns "%s" into "%s"', (name, safe) => {
  expect(safeFileName(name, 0)).toBe(safe)
  expect(safeFileName(safe, 0)).toBe(safe)
})

test('safeFileName() shortens a name to 120 characters and 240 bytes, and keeps its extension', () => {
  expect(safeFileName(`${'x'.repeat(300)}.tar`, 0)).toBe(`${'x'.repeat(116)}.tar`)
  const wide = safeFileName(`${'😀'.repeat(200)}.png`, 0)
  expect(wide).toBe(`${'😀'.repeat(59)}.png`)
  expect(Buffer.byteLength(wide)).toBeLessThanOrEqual(240)
  expect(safeFileName(wide, 0)).toBe(wide)
})

test('withSafeFileNames() renames files and artifacts, and skips parts without a name', () => {
  const bytes_ref = { kind: 'inline', data_base64: '' } as const
  const parts: readonly Part[] = [
    { kind: 'file', name: '../a.txt', bytes_ref },
    { kind: 'artifact', name: 'aux', bytes_ref },
    { kind: 'file', bytes_ref },
    { kind: 'link', url: 'https://a.test/', title: '../a' },
  ]
  const names = withSafeFileNames(parts).map(part => ('name' in part ? part.name : undefined))
  expect(names).toEqual(['a.txt', '_aux', undefined, undefined])
  expect(withSafeFileNames(parts)[3]).toBe(parts[3])
})
