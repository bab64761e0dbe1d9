import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { configSchema } from '../../src/config/schema.ts'
import { resolveSecrets } from '../../src/config/secrets.ts'
import { askForProject, describeProject, writeProject } from '../../src/init/project.ts'

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'postern-init-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

const answers = { agent: 'till', origin: 'https://shop.example' }

describe('the project that init writes', () => {
  const files = describeProject(answers)
  const readFile = (path: string) => files.get(path) ?? ''

  test('has a configuration that names its schema and is valid', () => {
    const config = JSON.parse(readFile('postern.config.json'))
    expect(config.$schema).toBe('./node_modules/postern/schemas/config.json')
    const { value } = resolveSecrets(config, { baseDir: folder, environment: { OPERATOR_TOKEN: 'x'.repeat(16) } })
    expect(configSchema.parse(value)).toMatchObject({ origin: answers.origin, default_agent: 'till' })
  })

  test('uses ES modules, keeps secrets and data out of git, and has a test', () => {
    expect(JSON.parse(readFile('package.json'))).toMatchObject({ type: 'module', private: true })
    expect(readFile('.gitignore').split('\n')).toEqual(expect.arrayContaining(['.env', '.postern/', 'node_modules/']))
    expect(readFile('.env.example')).toMatch(/^OPERATOR_TOKEN=$/m)
    expect(readFile('agents/till.test.ts')).toContain('postern/testing')
  })

  test('depends on the tool versions of this repository', () => {
    const { devDependencies } = JSON.parse(readFile('package.json'))
    const root = JSON.parse(readFileSync(join(import.meta.dirname, '../../../../package.json'), 'utf8'))
    for (const [name, version] of Object.entries(devDependencies)) expect(root.devDependencies[name]).toBe(version)
  })
})

test('writeProject() writes nothing if a file exists already, and names it', () => {
  writeFileSync(join(folder, 'package.json'), '{}')
  expect(() => writeProject(folder, describeProject(answers))).toThrow(
    /package\.json exists already\. Name an empty folder/,
  )
  expect(readdirSync(folder)).toEqual(['package.json'])
  expect(readFileSync(join(folder, 'package.json'), 'utf8')).toBe('{}')
})

describe('askForProject()', () => {
  const sink = () => new Writable({ write: (_chunk, _encoding, done) => done() })

  test('uses the defaults if the input is not a terminal', async () => {
    const project = await askForProject({}, { input: new PassThrough(), output: sink() })
    expect(project).toEqual({ agent: 'desk', origin: 'https://agents.example' })
  })

  test.each([
    [{ agent: 'Desk!' }, /"Desk!" is not a name of an agent/],
    [{ origin: 'http://agents.example' }, /is not an https origin/],
    [{ origin: 'https://agents.example/x' }, /is not an https origin/],
  ])('refuses the options %o with a reason', async (options, pattern) => {
    await expect(askForProject(options, { input: new PassThrough(), output: sink() })).rejects.toThrow(pattern)
  })

  test('repeats a question at a terminal until the answer is valid, and uses the default for an empty one', async () => {
    const input = Object.assign(new PassThrough(), { isTTY: true })
    const output = new PassThrough()
    const asking = askForProject({}, { input, output })
    // Readline drops lines that arrive before their question, so each line waits for its prompt.
    const prompts = ['Name of the first agent (desk): ', 'is not a name', 'Public address of the gateway']
    const typed = ['No Name\n', 'till\n', '\n']
    let shownText = ''
    output.on('data', chunk => {
      shownText += chunk
      if (prompts[0] !== undefined && shownText.includes(prompts[0])) {
        prompts.shift()
        shownText = ''
        setImmediate(() => input.write(typed.shift() ?? ''))
      }
    })
    expect(await asking).toEqual({ agent: 'till', origin: 'https://agents.example' })
  })

  test('writes nothing when the input ends before the last answer', async () => {
    const input = Object.assign(new PassThrough(), { isTTY: true })
    const output = new PassThrough()
    const asking = askForProject({}, { input, output })
    input.end()
    await expect(asking).rejects.toThrow(/Nothing was written/)
    output.end()
    expect(await text(output)).toContain('Name of the first agent')
  })
})
