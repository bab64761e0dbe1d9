import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../../..')
const program = join(import.meta.dirname, '../bin/create-postern.mjs')

/** In a clone a project holds the packed package. Where none is packed, its file stands for it: nobody installs this project. */
function packNothing(): () => void {
  const tarball = join(root, 'build/postern-0.1.0.tgz')
  if (existsSync(tarball)) return () => undefined
  mkdirSync(join(root, 'build'), { recursive: true })
  writeFileSync(tarball, '')
  return () => rmSync(tarball)
}

test('create-postern writes a project into the named folder, with the given options', () => {
  const folder = mkdtempSync(join(tmpdir(), 'create-postern-'))
  const unpack = packNothing()
  try {
    execFileSync(process.execPath, [program, 'mine', '--agent', 'till'], { cwd: folder, stdio: 'pipe' })
    expect(readdirSync(join(folder, 'mine/agents')).toSorted()).toEqual(['till.test.ts', 'till.ts'])
    expect(() => execFileSync(process.execPath, [program, 'mine'], { cwd: folder, stdio: 'pipe' })).toThrow(
      /exist already/,
    )
  } finally {
    unpack()
    rmSync(folder, { recursive: true, force: true })
  }
})
