import { readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'
import { listTypeErrors } from './type-errors.ts'

// Tests the examples of the SDK that editors show: each `@example` has the types that it uses.

const root = resolve(import.meta.dirname, '../../../..')
const pathOf = (path: string) => join(root, path)
const sources = [
  'packages/sdk/src/define-agent.ts',
  'packages/sdk/src/define-tool.ts',
  'packages/sdk/src/json.ts',
  'apps/gateway/src/config/settings.ts',
  'apps/gateway/src/testing/start-gateway.ts',
  'apps/gateway/src/testing/started-gateway.ts',
  'apps/gateway/src/testing/test-context.ts',
]

const wrapInTest = (code: string) =>
  `import type { StartedGateway } from 'postern/testing'\nimport { startGateway } from 'postern/testing'\nimport { afterAll, expect, vi } from 'vitest'\ndeclare const gateway: StartedGateway\n${code}\nexport { afterAll, expect, gateway, startGateway, vi }\n`

/** The code around an example that is not a module: a member of a tool, or a step of a test. */
const wrappers: Readonly<Record<string, (code: string) => string>> = {
  'packages/sdk/src/define-tool.ts': code =>
    `import { defineTool } from 'postern'\ntype Given = { day: string; amount: number }\nexport const member: { description?: string; parameters?: object; run?(args: Given): unknown; preview?(args: Given): unknown } = {\n${code}\n}\nexport { defineTool }\n`,
  'apps/gateway/src/testing/start-gateway.ts': wrapInTest,
  'apps/gateway/src/testing/started-gateway.ts': wrapInTest,
}

/** Returns the examples of a file, in order. */
function readExamples(path: string): readonly string[] {
  const comments = readFileSync(pathOf(path), 'utf8').match(/\/\*\*[\s\S]*?\*\//g) ?? []
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

const examples = sources.flatMap(path => readExamples(path).map(code => ({ path, code })))

const wrap = ({ path, code }: (typeof examples)[number]) =>
  /^import |\nimport /.test(code) ? code : (wrappers[path]?.(code) ?? code)

test('every function of the SDK and of the test kit has an example', () => {
  const counts = sources.map(path => readExamples(path).length)
  expect(Math.min(...counts)).toBeGreaterThan(0)
  expect(examples.length).toBeGreaterThanOrEqual(14)
})

test('the examples of the SDK pass the type check, which notices a wrong one', {
  timeout: 300_000,
}, () => {
  const invalidExample = "import { defineAgent } from 'postern'\nexport default defineAgent({ handle: () => 3 })\n"
  const faults = listTypeErrors([...examples.map(wrap), invalidExample])
  expect(faults).toEqual([expect.stringContaining(`example-${examples.length}.ts(2,`)])
})
