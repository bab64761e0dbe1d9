import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../../..')
const program = join(import.meta.dirname, '../bin/create-postern.mjs')

/**
 * Creates an empty package file if none is packed, because a project in a clone needs the packed package. Nobody installs this project. Returns the
 * function that removes the file.
 */
function createPackageFile(): () => void {
  const tarball = join(root, 'build/postern-0.1.0.tgz')
  if (existsSync(tarball)) return () => undefined
  mkdirSync(join(root, 'build'), { recursive: true })
  writeFileSync(tarball, '')
  return () => rmSync(tarball)
}

test('create-postern writes a project into the named folder, with the given options', () => {
  const folder = mkdtempSync(join(tmpdir(), 'create-postern-'))
  const removePackageFile = createPackageFile()
  try {
    execFileSync(process.execPath, [program, 'mine', '--agent', 'till'], { cwd: folder, stdio: 'pipe' })
    expect(readdirSync(join(folder, 'mine/agents')).toSorted()).toEqual(['till.test.ts', 'till.ts'])
    expect(() => execFileSync(process.execPath, [program, 'mine'], { cwd: folder, stdio: 'pipe' })).toThrow(
      /exist already/,
    )
  } finally {
    removePackageFile()
    rmSync(folder, { recursive: true, force: true })
  }
})
