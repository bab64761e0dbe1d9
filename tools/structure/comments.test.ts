import { describe, expect, test } from 'vitest'
import { findFragments, findSilentFiles } from './comments.ts'
import { parseSourceFile } from './source-files.ts'

const faultsOf = (text: string) => findFragments([parseSourceFile('p/src/a.ts', text)])
const silent = (path: string, text: string) => findSilentFiles([parseSourceFile(path, text)])

describe('a source file', () => {
  test('must begin with a line about its purpose', () => {
    expect(silent('p/src/a.ts', "import x from 'y'\n\n/** Counts. */\n")).toEqual([
      'p/src/a.ts begins without a line that says what it is for',
    ])
    expect(silent('p/src/a.ts', '// Counts calls.\n')).toEqual([])
    expect(silent('p/src/a.ts', '/** Counts calls. */\n')).toEqual([])
  })

  test('may begin with a shebang line', () => {
    expect(silent('p/bin/a.mjs', '#!/usr/bin/env node\n// Counts calls.\n')).toEqual([])
    expect(silent('p/bin/a.mjs', '#!/usr/bin/env node\nconst a = 1\n')).toHaveLength(1)
  })

  test('needs no such line if it is a test or a library copy', () => {
    expect(silent('p/src/a.test.ts', "import x from 'y'\n")).toEqual([])
    expect(silent('p/test/setup/a.ts', "import x from 'y'\n")).toEqual([])
    expect(silent('p/public/vendor/a.d.ts', "export { x } from 'y'\n")).toEqual([])
  })
})

describe('a comment', () => {
  test.each([
    '/** What is stored of a message. */',
    '  // Whether it is there.',
    '/**\n * Of what is shared.\n */',
    '// As in SQLite.',
  ])('is a fault if it is a fragment: %j', text => {
    expect(faultsOf(`const a = 1\n${text}\n`)).toHaveLength(1)
  })

  test.each([
    '/** Returns what is stored of a message. */',
    '// Howls at night.',
    '// It is kept\n// where the message is.',
    "const a = '// What'",
    'const a = 1 // how many',
  ])('is correct if it is a sentence or data: %j', text => {
    expect(faultsOf(`const a = 1\n${text}\n`)).toEqual([])
  })
})
