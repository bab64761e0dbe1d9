import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findOwnPackage } from '../../src/init/own-package.ts'
import { softwareVersion } from '../../src/system/version.ts'

let clone: string
let url: string
beforeEach(() => {
  clone = mkdtempSync(join(tmpdir(), 'postern-clone-'))
  url = `${pathToFileURL(clone)}/apps/gateway/src/init/own-package.ts`
})
afterEach(() => rmSync(clone, { recursive: true, force: true }))

test('a project of a clone installs the package that the clone has built', () => {
  const name = `postern-${softwareVersion}.tgz`
  mkdirSync(join(clone, 'build'))
  writeFileSync(join(clone, 'build', name), '')
  expect(findOwnPackage(url)).toEqual({ dependency: `file:${name}`, tarball: join(clone, 'build', name) })
})

test('a clone without a built package refuses, and names the command that builds it', () => {
  expect(() => findOwnPackage(url)).toThrow(
    /build\/postern-.*\.tgz does not exist\. Run npm run package in the clone first\./,
  )
})

test('a project of the npm package installs the same release from npm', () => {
  expect(findOwnPackage('file:///project/node_modules/postern/dist/init.js')).toEqual({ dependency: softwareVersion })
})
