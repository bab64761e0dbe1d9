// Tests the project that `postern init` writes.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, inject, test } from 'vitest'
import { install } from './install-packages.ts'
import { runInstalled, runProgram } from './program.ts'

const { tarball, folder, creator: creatorFolder, nodes: nodeVersions } = inject('installation')
const node = nodeVersions.oldest
const project = join(folder, 'project')
const runInProject = (program: string, args: readonly string[]) =>
  runProgram(node, [join(project, 'node_modules', program), ...args], { node, folder: project })

beforeAll(async () => {
  const { code, errors } = await runInstalled(['init', 'project', '--agent', 'till'], { node, folder })
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  await install(project, [tarball])
})

test('the test that postern init writes passes on the oldest supported Node', async () => {
  const { code, output, errors } = await runInProject('vitest/vitest.mjs', ['run'])
  // Node warns that node:sqlite may change; the program prints no other errors.
  expect(
    errors.split('\n').filter(line => line !== '' && !/SQLite is an experimental|trace-warnings/.test(line)),
  ).toEqual([])
  expect(output).toMatch(/5 passed/)
  expect(code).toBe(0)
})

test('the project and the declarations of the package pass the type check', async () => {
  const { code, output } = await runInProject('typescript/bin/tsc', ['--skipLibCheck', 'false'])
  expect(output).toBe('')
  expect(code).toBe(0)
})

test('TypeScript reports an agent or a configuration of the wrong type', async () => {
  const source =
    "import { defineAgent, defineConfig } from 'postern'\ndefineAgent({ handle: () => 3 })\ndefineConfig({ log: { level: 'loud' } })\n"
  const file = join(project, 'agents/wrong.ts')
  writeFileSync(file, source)
  const { code, output } = await runInProject('typescript/bin/tsc', [])
  rmSync(file)
  expect(code).not.toBe(0)
  expect(output).toMatch(/wrong\.ts\(2,\d+\): error TS2322: Type 'number' is not assignable/)
  expect(output).toMatch(/wrong\.ts\(3,\d+\): error TS2322: Type '"loud"' is not assignable/)
})

test('the configuration refers to a JSON Schema in the package', () => {
  const { $schema } = JSON.parse(readFileSync(join(project, 'postern.config.json'), 'utf8'))
  expect(JSON.parse(readFileSync(join(project, $schema), 'utf8'))).toHaveProperty('properties.agents')
})

test('postern init overwrites nothing', async () => {
  const { code, errors } = await runInstalled(['init', 'project', '--agent', 'other'], { node, folder })
  expect(code).toBe(1)
  expect(errors).toMatch(/^Cannot write a project in .*: postern\.config\.json, .*exist already\./)
  expect(existsSync(join(project, 'agents/other.ts'))).toBe(false)
})

test('create-postern writes the same project', async () => {
  const program = join(creatorFolder, 'node_modules/create-postern/bin/create-postern.mjs')
  const { code, output, errors } = await runProgram(node, [program, 'mine', '--agent', 'till'], {
    node,
    folder: creatorFolder,
  })
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  expect(output).toContain('wrote agents/till.ts')
  // npm has changed package.json of the other project since.
  for (const path of ['agents/till.ts', 'agents/till.test.ts', 'postern.config.json', 'tsconfig.json']) {
    expect(readFileSync(join(creatorFolder, 'mine', path), 'utf8')).toBe(readFileSync(join(project, path), 'utf8'))
  }
})
