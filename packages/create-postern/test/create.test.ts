import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const program = join(import.meta.dirname, '../bin/create-postern.mjs')

test('create-postern writes a project into the folder that it names, with the answers of its options', () => {
  const place = mkdtempSync(join(tmpdir(), 'create-postern-'))
  try {
    execFileSync(process.execPath, [program, 'mine', '--agent', 'till'], { cwd: place, stdio: 'pipe' })
    expect(readdirSync(join(place, 'mine/agents')).toSorted()).toEqual(['till.test.ts', 'till.ts'])
    expect(() => execFileSync(process.execPath, [program, 'mine'], { cwd: place, stdio: 'pipe' })).toThrow(
      /are there already/,
    )
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
})
