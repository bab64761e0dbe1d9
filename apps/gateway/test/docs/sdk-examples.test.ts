import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

// What an editor shows of the SDK: each `@example` has the types that it uses.

const root = resolve(import.meta.dirname, '../../../..')
const at = (path: string) => join(root, path)
const sources = [
  'packages/sdk/src/define-agent.ts',
  'packages/sdk/src/define-tool.ts',
  'packages/sdk/src/read-message-text.ts',
  'apps/gateway/src/config/settings.ts',
  'apps/gateway/src/testing/start-gateway.ts',
]

/** What stands around an example that is no module: a member of a tool, or a step of a test. */
const around: Readonly<Record<string, (code: string) => string>> = {
  'packages/sdk/src/define-tool.ts': code =>
    `import { defineTool } from 'postern'\ntype Given = { day: string; amount: number }\nexport const member: { description?: string; parameters?: object; run?(args: Given): unknown; preview?(args: Given): unknown } = {\n${code}\n}\nexport { defineTool }\n`,
  'apps/gateway/src/testing/start-gateway.ts': code =>
    `import type { StartedGateway } from 'postern/testing'\nimport { startGateway } from 'postern/testing'\nimport { afterAll, expect } from 'vitest'\ndeclare const gateway: StartedGateway\n${code}\nexport { afterAll, expect, gateway, startGateway }\n`,
}

/** The examples of a file, in order. */
function readExamples(path: string): readonly string[] {
  const comments = readFileSync(at(path), 'utf8').match(/\/\*\*[\s\S]*?\*\//g) ?? []
  return comments.flatMap(comment => {
    const [, example] = comment.split('@example')
    if (example === undefined) return []
    const lines = example.replace(/\*\/$/, '').split('\n')
    return lines
      .map(line => line.replace(/^\s*\* ?/, ''))
      .join('\n')
      .trim()
  })
}

const all = sources.flatMap(path => readExamples(path).map(code => ({ path, code })))

/** Lines of the compiler about the examples: the sources behind them are checked elsewhere. */
function findTypeFaults(modules: readonly string[]): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'postern-examples-'))
  try {
    symlinkSync(at('node_modules'), join(folder, 'node_modules'))
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    for (const [index, code] of modules.entries()) writeFileSync(join(folder, `example-${index}.ts`), code)
    const compilerOptions = {
      paths: {
        postern: [at('apps/gateway/src/index.ts')],
        'postern/testing': [at('apps/gateway/src/testing/index.ts')],
      },
      typeRoots: [at('node_modules/@types')],
      types: ['node'],
      ...{ noUnusedLocals: false, noUnusedParameters: false },
    }
    const config = { extends: at('tsconfig.base.json'), compilerOptions, include: ['*.ts'] }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
    const tsc = at('node_modules/typescript/bin/tsc')
    const { stdout } = spawnSync(process.execPath, [tsc, '--noEmit', '-p', folder], { encoding: 'utf8' })
    return stdout.split('\n').filter(line => /example-\d+\.ts/.test(line))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const wrap = ({ path, code }: (typeof all)[number]) =>
  /^import |\nimport /.test(code) ? code : (around[path]?.(code) ?? code)

test('every function of the SDK and of the test kit has an example', () => {
  const counts = sources.map(path => readExamples(path).length)
  expect(Math.min(...counts)).toBeGreaterThan(0)
  expect(all.length).toBeGreaterThanOrEqual(14)
})

test('the examples of the SDK have the types that they use, and one that is wrong is noticed', {
  timeout: 300_000,
}, () => {
  const wrong = "import { defineAgent } from 'postern'\nexport default defineAgent({ handle: () => 3 })\n"
  const faults = findTypeFaults([...all.map(wrap), wrong])
  expect(faults).toEqual([expect.stringContaining(`example-${all.length}.ts(2,`)])
})
