import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { formatRelease, insertRelease, readChange, readVersion, replaceVersion, versionPattern } from './changelog.ts'
import type { Lock } from './licences.ts'
import { createBom, describeLicences, isAccepted, listDependencies, readLock } from './licences.ts'
import { readAudit } from './read-audit.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const commit = (subject: string, body = '') => ({ subject, body })

describe('the changelog', () => {
  const commits = [
    commit('fix(email): a mail without a date is taken'),
    commit('test(email): more of them'),
    commit('feat(store): backup', 'BREAKING CHANGE: older copies are not read'),
    commit('feat(a2a)!: tasks have owners'),
    commit('Merge branch'),
    commit('feat(email): ARC'),
    commit('perf: fewer copies'),
    commit('fix(email): a mail without a date is taken'),
  ]

  test('lists user-visible changes by kind, oldest first, grouped by scope, each once', () => {
    expect(formatRelease('0.2.0', '2026-11-23', commits)).toBe(`## 0.2.0 - 2026-11-23

### Breaking

- a2a: tasks have owners
- store: backup

### Added

- email: ARC

### Changed

- fewer copies

### Fixed

- email: a mail without a date is taken`)
  })

  test('adds a new release at the top, and refuses a present one', () => {
    const first = insertRelease('', '## 0.1.0 - 2026-01-01\n\n- All')
    expect(first).toMatch(/^# Changelog\n[\s\S]*semver\.org\)\.\n\n## 0\.1\.0 - 2026-01-01\n\n- All\n$/)
    const second = insertRelease(first, '## 0.2.0 - 2026-02-01\n\n- More')
    expect(second.replace('## 0.2.0 - 2026-02-01\n\n- More\n\n', '')).toBe(first)
    expect(() => insertRelease(second, '## 0.1.0 - 2026-03-01')).toThrow('has 0.1.0 already')
    expect(() => insertRelease(second, '## 0.1.0-beta.1 - 2026-03-01')).not.toThrow()
  })

  test('reads only subjects of our commit format', () => {
    expect(readChange(commit('fix(web, a2a): both'))).toEqual({
      kind: 'fix',
      scope: 'web, a2a',
      text: 'both',
      isBreaking: false,
    })
    expect(readChange(commit('Fix: both'))).toBeUndefined()
  })

  test('accepts valid versions', () => {
    expect(['0.2.0', '1.0.0-rc.1'].every(version => versionPattern.test(version))).toBe(true)
    expect(['v1.0.0', '1.0', '1.0.0 ', ''].some(version => versionPattern.test(version))).toBe(false)
  })
})

describe('versions', () => {
  const manifests = ['package.json', '{apps,packages}/*/package.json', 'clients/*/pyproject.toml'].flatMap(pattern =>
    globSync(pattern, { cwd: root }),
  )

  test('are the same in every manifest', () => {
    const versions = manifests.map(path => readVersion(path, readFileSync(join(root, path), 'utf8')))
    expect(new Set(versions).size).toBe(1)
    expect(versions[0]).toMatch(versionPattern)
  })

  test('are the only text that `replaceVersion()` changes, in JSON and in TOML', () => {
    for (const path of manifests) {
      const text = readFileSync(join(root, path), 'utf8')
      const replaced = replaceVersion(path, text, '9.9.9')
      expect(readVersion(path, replaced)).toBe('9.9.9')
      expect(replaceVersion(path, replaced, readVersion(path, text) ?? '')).toBe(text)
    }
    expect(() => replaceVersion('package.json', '{}', '1.0.0')).toThrow('Cannot find a version')
  })
})

describe('the licences', () => {
  test('of all packages at runtime pass the check', () => {
    const dependencies = listDependencies(readLock(root), 'apps/gateway')
    expect(dependencies.length).toBeGreaterThan(50)
    expect(dependencies.filter(({ licence }) => !isAccepted(licence))).toEqual([])
  })

  test('pass if one alternative of the SPDX expression passes with all its parts', () => {
    expect(['MIT', '(MIT OR GPL-3.0)', '(Apache-2.0 AND BSD-3-Clause)'].map(isAccepted)).toEqual([true, true, true])
    expect(['GPL-3.0', '(MIT AND GPL-3.0)', 'unknown', ''].map(isAccepted)).toEqual([false, false, false, false])
  })

  test('cover exactly a workspace’s needs, through other workspaces, nested and optional packages', () => {
    const lock: Lock = {
      'apps/x': { dependencies: { own: '*', a: '1' }, optionalDependencies: { gone: '1' } },
      'node_modules/own': { link: true, resolved: 'packages/own' },
      'packages/own': { dependencies: { b: '2' } },
      'packages/own/node_modules/b': { version: '2.0.0', license: 'ISC' },
      'node_modules/b': { version: '1.0.0', license: 'MIT', peerDependencies: { a: '1' } },
      'node_modules/a': { version: '1.0.0', license: 'MIT', dependencies: { b: '1' } },
      'node_modules/other': { version: '1.0.0' },
    }
    const dependencies = listDependencies(lock, 'apps/x')
    expect(dependencies.map(({ name, version }) => `${name}@${version}`)).toEqual(['a@1.0.0', 'b@1.0.0', 'b@2.0.0'])
    expect(describeLicences(dependencies)).toContain('| `b` | 2.0.0 | ISC |')
    expect(() => listDependencies({ ...lock, 'apps/x': { dependencies: { gone: '1' } } }, 'apps/x')).toThrow(
      'lacks gone',
    )
  })

  test('are in the bill of materials, with the digest of each archive', () => {
    const lock = readLock(root)
    const { bomFormat, components } = createBom(lock, { version: '1.2.3', now: 0 })
    expect(bomFormat).toBe('CycloneDX')
    expect(components).toHaveLength(listDependencies(lock, 'apps/gateway').length)
    const { version = '', integrity = '' } = lock['node_modules/@hono/node-server'] ?? {}
    const content = Buffer.from(integrity.replace('sha512-', ''), 'base64').toString('hex')
    expect(components.find(({ name }) => name === '@hono/node-server')).toEqual({
      type: 'library',
      name: '@hono/node-server',
      version,
      purl: `pkg:npm/%40hono/node-server@${version}`,
      'bom-ref': `pkg:npm/%40hono/node-server@${version}`,
      licenses: [{ expression: 'MIT' }],
      hashes: [{ alg: 'SHA-512', content }],
    })
    expect(components.every(({ hashes }) => hashes[0]?.content.length === 128)).toBe(true)
  })
})

describe('the audit', () => {
  const report = (vulnerabilities: object) => JSON.stringify({ metadata: { vulnerabilities: {} }, vulnerabilities })

  test('fails from moderate severity on', () => {
    expect(readAudit(report({ a: { severity: 'low' } }))).toMatchObject({ isFailed: false })
    const outcome = readAudit(
      report({ a: { severity: 'low' }, b: { severity: 'moderate' }, c: { severity: 'critical' } }),
    )
    expect(outcome).toEqual({ isFailed: true, line: expect.stringContaining('b (moderate), c (critical)') })
  })

  test('reports an unreachable registry', () => {
    expect(readAudit('{"message":"405 Method Not Allowed"}')).toEqual({
      isFailed: false,
      line: 'SKIPPED  audit: 405 Method Not Allowed',
    })
    expect(readAudit('')).toMatchObject({ isFailed: false, line: expect.stringContaining('SKIPPED') })
  })
})
